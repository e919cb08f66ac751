import type { Description, JsonSchema } from './document.ts'

/** Generates the shape by which the SDK checks and writes request values. */
export function generateShape(schema: JsonSchema, schemas: Description['schemas'], place: string): string {
  const { type, properties, items, required = [] } = dereference(schema, schemas)
  if (items) return `[${generateShape(items, schemas, `${place}[]`)}]`
  if (!properties) return `'${scalar(schema, place)}'`
  const fields = Object.entries(properties).map(([name, property]) => {
    const key = required.includes(name) ? name : `${name}?`
    return `${/^\w+$/.test(key) ? key : `'${key}'`}: ${generateShape(property, schemas, `${place}.${name}`)}`
  })
  if (type !== 'object') throw new Error(`${place}: has properties but is not an object`)
  return `{ ${fields.join(', ')} }`
}

/** Rejects a response with an int64: the SDK reads with `JSON.parse`, which would silently round it. */
export function rejectInt64(schema: JsonSchema, schemas: Description['schemas'], place: string): void {
  const { format, properties = {}, items } = dereference(schema, schemas)
  if (format === 'int64') {
    throw new Error(
      `${place}: an int64 in a response would be rounded above 2^53; the SDK has no exact JSON reader yet`,
    )
  }
  if (items) rejectInt64(items, schemas, `${place}[]`)
  for (const [name, property] of Object.entries(properties)) rejectInt64(property, schemas, `${place}.${name}`)
}

function scalar({ type, format }: JsonSchema, place: string): string {
  if (format === 'int64') return 'int64'
  if (type === 'string') return 'text'
  if (type === 'integer' || type === 'number' || type === 'boolean') return type
  throw new Error(`${place}: the SDK cannot write this schema; add it to generator/shapes.ts and src/wire/json.ts`)
}

function dereference(schema: JsonSchema, schemas: Description['schemas']): JsonSchema {
  if (!schema.$ref) return schema
  const target = schemas[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)]
  if (!target) throw new Error(`${schema.$ref}: the component does not exist`)
  return target
}
