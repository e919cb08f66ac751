import { type Components, type ParameterPlace, resolve } from './description.ts'
import type { Field, Literal, Schema } from './schema.ts'
import { literal, propertyName } from './typescript.ts'

/** Generates the writer of a body. */
export function generateBodyWriter(schema: Schema, components: Components): string {
  const target = resolve(schema, components)
  const write = (part: Schema): string => generateBodyWriter(part, components)
  switch (target.kind) {
    case 'text':
      return 'quoted(text)'
    case 'literal':
      return writeLiterals(target.values)
    case 'list':
      return `list(${write(target.items)})`
    case 'record':
      return `record(${write(target.values)})`
    case 'union':
      return `union(${target.members.map(write).join(', ')})`
    case 'object':
      return `object(${writeFields(target.fields, write)})`
    default:
      return target.kind
  }
}

/** Generates the writer of the parameters of one place. */
export function generateParametersWriter(
  fields: readonly Field[],
  place: ParameterPlace,
  components: Components,
): string {
  return `fields(${writeFields(fields, (schema) => writeParameter(schema, place, components))})`
}

function writeParameter(schema: Schema, place: ParameterPlace, components: Components): string {
  const target = resolve(schema, components)
  if (target.kind === 'list') return `each(${writeParameter(target.items, place, components)})`
  if (target.kind === 'literal') return `oneOf(${target.values.map(literal).join(', ')})`
  return target.kind === 'text' && place === 'header' ? 'headerText' : target.kind
}

function writeLiterals(values: readonly Literal[]): string {
  const texts = values.filter((value) => typeof value === 'string')
  const others = values.filter((value) => typeof value !== 'string')
  const writers = [
    ...(texts.length > 0 ? [`quoted(oneOf(${texts.map(literal).join(', ')}))`] : []),
    ...(others.length > 0 ? [`oneOf(${others.map(literal).join(', ')})`] : []),
  ]
  return writers.length === 1 ? String(writers[0]) : `union(${writers.join(', ')})`
}

/** Writes the required and the optional fields, as two arguments. */
function writeFields(fields: readonly Field[], write: (schema: Schema) => string): string {
  const entries = (required: boolean): string => {
    const chosen = fields.filter((field) => field.required === required)
    if (chosen.length === 0) return '{}'
    return `{ ${chosen.map(({ name, schema }) => `${propertyName(name)}: ${write(schema)}`).join(', ')} }`
  }
  return fields.every(({ required }) => required) ? entries(true) : `${entries(true)}, ${entries(false)}`
}
