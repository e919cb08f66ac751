/** What the OpenAPI document says of operations, in the forms that the SDK has. The document has rejected all others. */
import {
  type Components,
  type Content,
  type JsonSchema,
  type OpenApiDocument,
  type Operation,
  reject,
} from '@plant-store/contract/openapi'
import type { Int64s } from '../src/wire/json.ts'

/** An operation. */
export interface OperationModel {
  readonly name: string
  readonly description: string
  readonly deprecated: boolean
  readonly method: string
  /** The path, with its parameters as `{name}`. */
  readonly path: string
  /** The input: path, query and body. */
  readonly fields: readonly Field[]
  /** The body of the request; undefined if it has none. */
  readonly body: JsonSchema | undefined
  /** The success status. */
  readonly status: number
  /** The body of its response; undefined if it has none. */
  readonly response: JsonSchema | undefined
  readonly paged: boolean
  readonly idempotent: boolean
  /** The scope that the token must have. */
  readonly scope: string
}

/** Where a field of the input is sent. */
type Part = 'path' | 'query' | 'body'

/** A field of the input of an operation. One that the path and the body share is sent in both. */
export interface Field {
  readonly name: string
  readonly parts: readonly Part[]
  readonly required: boolean
  readonly schema: JsonSchema
}

/** Names that the client itself uses; with `then`, a client would be awaited like a promise. */
const RESERVED_NAMES = ['safe', 'raw', 'iterate', 'withOptions', 'then', 'toJSON', 'constructor']

/** Reads the operations of an SDK. */
export function readOperations({ paths, components: { schemas } }: OpenApiDocument): OperationModel[] {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => readOperation(operation, method.toUpperCase(), path, schemas)),
  )
  if (operations.length === 0) reject('The contract', 'has no operation; add one')
  return operations
}

function readOperation(operation: Operation, method: string, path: string, components: Components): OperationModel {
  const { operationId: name, deprecated = false, requestBody, parameters } = operation
  if (RESERVED_NAMES.includes(name)) reject(name, 'the SDK uses this name; rename the operation')
  if (!/^[a-z]\w*$/.test(name)) reject(name, 'must be a name such as getPlant; rename the operation')
  const [status = '', success] = Object.entries(operation.responses).find(([each]) => each.startsWith('2')) ?? []
  const body = schemaOf(requestBody?.content)
  const { properties = {}, required = [] } = body ? resolve(body, components) : {}
  const fields = [
    ...parameters.map((each): Field => ({ ...each, parts: [each.in], required: each.required ?? false })),
    ...Object.entries(properties).map(([field, schema]): Field => {
      return { name: field, parts: ['body'], required: required.includes(field), schema }
    }),
  ]
  return {
    ...{ name, method, path, body, deprecated, status: Number(status), response: schemaOf(success?.content) },
    description: operation.description || operation.summary || name,
    fields: mergeFields(name, fields, components),
    paged: operation['x-paged'],
    idempotent: operation['x-idempotent'],
    scope: operation.security[0].bearer[0],
  }
}

/** Makes one field of those that have the same name in the path and the body; any other two would be confused. */
function mergeFields(operation: string, fields: readonly Field[], components: Components): Field[] {
  const merged = new Map<string, Field>()
  for (const field of fields) {
    const other = merged.get(field.name)
    const parts = [...(other?.parts ?? []), ...field.parts]
    const [type, otherType] = [field, other].map((each) => each && typeOf(resolve(each.schema, components)))
    if (other && (parts.includes('query') || type !== otherType)) {
      const clash = `the ${parts.join(' and the ')} have a field of this name`
      reject(`${operation}: ${field.name}`, `${clash}; rename one, since the input of the SDK is one object`)
    }
    merged.set(field.name, { ...field, parts, required: field.required || (other?.required ?? false) })
  }
  return [...merged.values()]
}

function typeOf({ type, format, enum: values }: JsonSchema): string {
  return JSON.stringify([type, format, values])
}

function schemaOf(content: Content | undefined): JsonSchema | undefined {
  return content?.['application/json'].schema
}

/** Returns the schema of a component, and of what it refers to. */
export function resolve(schema: JsonSchema, components: Components): JsonSchema {
  const target = schema.$ref === undefined ? undefined : components[targetOf(schema.$ref)]
  return target ? resolve(target, components) : schema
}

/** Returns the name of the component that a reference leads to. */
export function targetOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** Adds the names of the components that a schema refers to, through others too. */
export function addComponents(schema: JsonSchema, components: Components, names: Set<string>): Set<string> {
  const { items, properties = {} } = resolve(schema, components)
  if (schema.$ref !== undefined) names.add(targetOf(schema.$ref))
  for (const part of [items, ...Object.values(properties)]) if (part) addComponents(part, components, names)
  return names
}

/** Where the values of a schema have int64s, as the exact JSON of the SDK takes it; undefined if nowhere. */
export function int64sOf(schema: JsonSchema, components: Components): Int64s | undefined {
  const { items, properties = {}, ...own } = resolve(schema, components)
  if (isInt64(own)) return true
  if (items) return int64sOf(items, components)
  const fields = Object.entries(properties).map(([name, field]) => [name, int64sOf(field, components)] as const)
  const found = fields.filter((field): field is [string, Int64s] => field[1] !== undefined)
  return found.length > 0 ? Object.fromEntries(found) : undefined
}

export function isInt64({ type, format }: JsonSchema): boolean {
  return type === 'integer' && format === 'int64'
}
