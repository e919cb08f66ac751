import type { Literal } from '@plant-store/contract/openapi'
import {
  type Components,
  type Field,
  type Model,
  type OperationModel,
  type ParameterPlace,
  reject,
  resolve,
  type Schema,
} from './model.ts'
import { generateImports, literal, propertyName } from './typescript.ts'

const modules = {
  '../retry.ts': ['wasNotProcessed'],
  '../wire/read.ts': ['readAny', 'readList', 'readNothing', 'readObject'],
  '../wire/read-exactly.ts': ['exactly'],
  '../wire/write.ts': [
    ...['boolean', 'each', 'fields', 'headerText', 'int64', 'integer', 'list', 'number', 'object', 'oneOf', 'quoted'],
    ...['record', 'text', 'union'],
  ],
}

/** Generates the route table, which composes the writers of each request and the readers of each response. */
export function generateRoutes(model: Model): string {
  const { operations } = model
  const names = operations.map(({ name }) => `'${name}'`).join(' | ')
  const routes = operations.map((operation) => generateRoute(operation, model)).join('')
  return [
    `${generateImports(routes, modules)}import type { Route } from '../wire/read.ts'\n`,
    `/** The name of an operation. */\nexport type OperationName = ${names}\n`,
    '/** How to send each operation, and how the service may respond. */\n' +
      `export const routes: Record<OperationName, Route> = {\n${routes}}\n`,
  ].join('\n')
}

function generateRoute(operation: OperationModel, { components }: Model): string {
  const { name, method, path, parameters, body, responses, declaredErrors, paged, idempotent } = operation
  const readers = responses.map(({ status, schema }) => {
    return `${status}: ${generateReader(schema, components, `${name}: response ${status}`)}`
  })
  const write = (place: ParameterPlace) =>
    parameters[place].length > 0 &&
    `fields(${writeFields(parameters[place], (schema) => writeParameter(schema, place, components))})`
  const fields = {
    method: literal(method),
    path: literal(path),
    pathParameters: write('path'),
    body: body && generateBodyWriter(body, components),
    query: write('query'),
    headers: write('header'),
    responses: `{ ${readers.join(', ')} }`,
    paged,
    canRetry: idempotent ? undefined : 'wasNotProcessed',
    declaredErrors: `[${declaredErrors.join(', ')}]`,
  }
  const lines = Object.entries(fields).map(([key, value]) => (value ? `    ${key}: ${value},\n` : ''))
  return `  ${name}: {\n${lines.join('')}  },\n`
}

function generateBodyWriter(schema: Schema, components: Components): string {
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

/** Where the numbers of a value are, by field; `[]` is each item of a list, and `*` each field of a record. */
type Numbers = 'int64' | 'number' | ReadonlyMap<string, Numbers>

/** Generates the reader of a response. The service's own form is checked on the outside only, since it may grow. */
function generateReader(schema: Schema | undefined, components: Components, place: string): string {
  if (!schema) return 'readNothing'
  const { kind } = resolve(schema, components)
  const reader = kind === 'list' ? 'readList' : kind === 'object' || kind === 'record' ? 'readObject' : 'readAny'
  const numbers = findNumbers(schema, components, place)
  return numbers && hasInt64(numbers) ? `${reader}(exactly(${writePlaces(numbers)}))` : `${reader}()`
}

function findNumbers(schema: Schema, components: Components, place: string): Numbers | undefined {
  const target = resolve(schema, components)
  const parts = (entries: readonly (readonly [string, Schema])[]): Numbers | undefined => {
    const found = entries.flatMap(([name, part]): [string, Numbers][] => {
      const numbers = findNumbers(part, components, `${place}.${name}`)
      return numbers ? [[name, numbers]] : []
    })
    return found.length > 0 ? new Map(found) : undefined
  }
  switch (target.kind) {
    case 'int64':
      return 'int64'
    case 'integer':
    case 'number':
      return 'number'
    case 'literal':
      return target.values.some((value) => typeof value === 'number') ? 'number' : undefined
    case 'list':
      return parts([['[]', target.items]])
    case 'record':
      return parts([['*', target.values]])
    case 'object':
      return parts(target.fields.map((field) => [field.name, field.schema]))
    case 'union':
      return target.members
        .map((member) => findNumbers(member, components, place))
        .reduce((one, other) => merge(one, other, place), undefined)
    default:
      return undefined
  }
}

/** Merges the numbers of alternatives, which the reader cannot tell apart before it has read them. */
function merge(one: Numbers | undefined, other: Numbers | undefined, place: string): Numbers | undefined {
  if (!one || !other || one === other) return one ?? other
  if (typeof one === 'object' && typeof other === 'object' && one.has('[]') === other.has('[]')) {
    const names = [...new Set([...one.keys(), ...other.keys()])]
    // Every field of a record may also be a field of this name.
    const of = (numbers: typeof one, name: string) => numbers.get(name) ?? numbers.get('*')
    return new Map(
      names.map((name) => [name, merge(of(one, name), of(other, name), `${place}.${name}`) as Numbers] as const),
    )
  }
  if (!hasInt64(one) && !hasInt64(other)) return 'number'
  return reject(
    place,
    'one alternative of a union has an int64 where another has something else with numbers; use one form',
  )
}

function hasInt64(numbers: Numbers): boolean {
  return typeof numbers === 'string' ? numbers === 'int64' : [...numbers.values()].some(hasInt64)
}

function writePlaces(numbers: Numbers): string {
  if (typeof numbers === 'string') return `'${numbers}'`
  const places = [...numbers].filter(([, part]) => hasInt64(part))
  const [[name, items] = []] = places
  if (name === '[]' && items) return `[${writePlaces(items)}]`
  return `{ ${places.map(([field, part]) => `${propertyName(field)}: ${writePlaces(part)}`).join(', ')} }`
}
