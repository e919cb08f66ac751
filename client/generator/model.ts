/**
 * What the OpenAPI document says of operations, in the forms that the SDK has. The document has rejected all others.
 */
import {
  type Components,
  createOpenApiDocument,
  type JsonSchema,
  type Operation,
  rejectContract,
} from '@plant-store/contract/openapi'
import type { Int64s } from '../src/wire/json.ts'

/** A JSON Schema with the components that it refers to, in their places. */
export interface Schema extends JsonSchema {
  /** The name of the component that this is; undefined if it is none. */
  readonly component?: string
  readonly type?: string
  /** Whether `null` is a value too. */
  readonly isNullable?: boolean
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
}

/** An operation. */
export type OperationModel = ReturnType<typeof readOperation>

/** Where a field of the input is sent. */
type Part = 'path' | 'query' | 'body'

/** A field of the input of an operation. One that the path and the body share is sent in both. */
export interface Field {
  readonly name: string
  readonly parts: readonly Part[]
  readonly required: boolean
  readonly schema: Schema
}

/** Names that the client itself uses; with `then`, a client would be awaited like a promise. */
const RESERVED_NAMES = ['safe', 'raw', 'iterate', 'withOptions', 'then', 'toJSON', 'constructor']

/** Reads the operations of an SDK, and the components of which their values consist. */
export function readContract(contract: Record<string, unknown>) {
  const document = createOpenApiDocument(contract)
  const { paths, components } = resolve(document, document.components.schemas)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => readOperation(operation, method.toUpperCase(), path)),
  )
  if (operations.length === 0) rejectContract('The contract', 'has no operation; add one')
  return { operations, components: components.schemas as Record<string, Schema> }
}

function readOperation(operation: Operation, method: string, path: string) {
  const { operationId: name, deprecated = false, requestBody, parameters } = operation
  if (RESERVED_NAMES.includes(name)) rejectContract(name, 'the SDK uses this name; rename the operation')
  if (!/^[a-z]\w*$/.test(name)) rejectContract(name, 'must be a name such as getPlant; rename the operation')
  const [status = '', success] = Object.entries(operation.responses).find(([each]) => each.startsWith('2')) ?? []
  const body = requestBody?.content['application/json'].schema as Schema | undefined
  const inTarget = parameters.map(({ in: part, required = false, schema, ...own }): Field => {
    return { name: own.name, parts: [part], required, schema: schema as Schema }
  })
  return {
    name,
    method,
    path,
    deprecated,
    description: operation.description || operation.summary || name,
    // The input: path, query and body.
    fields: mergeFields(name, [...inTarget, ...fieldsOf(body ?? {})]),
    // The body of the request; undefined if it has none.
    body,
    status: Number(status),
    // The body of its response; undefined if it has none.
    response: success?.content?.['application/json'].schema as Schema | undefined,
    paged: operation['x-paged'],
    // Whether it may respond 304 to a condition.
    conditional: '304' in operation.responses,
    idempotent: operation['x-idempotent'],
    scope: operation.security[0].bearer[0],
  }
}

/** Makes one field of those that have the same name in the path and the body; any other two would be confused. */
function mergeFields(operation: string, fields: readonly Field[]): Field[] {
  const merged = new Map<string, Field>()
  for (const field of fields) {
    const other = merged.get(field.name) ?? { ...field, parts: [] }
    const parts = [...other.parts, ...field.parts]
    if (parts.length > 1 && (parts.includes('query') || typeOf(field.schema) !== typeOf(other.schema))) {
      const clash = `the ${parts.join(' and the ')} have a field of this name`
      rejectContract(`${operation}: ${field.name}`, `${clash}; rename one, since the input of the SDK is one object`)
    }
    merged.set(field.name, { ...field, parts, required: field.required || other.required })
  }
  return [...merged.values()]
}

function typeOf({ type, format, enum: values, isNullable }: Schema): string {
  return JSON.stringify([type, format, values, isNullable])
}

/** Lists the fields of an object, as those of a body. */
export function fieldsOf({ properties = {}, required = [] }: Schema): Field[] {
  return Object.entries(properties).map(([name, schema]) => {
    return { name, parts: ['body'], required: required.includes(name), schema }
  })
}

/** Puts the components that a part of the document refers to in their places, which makes each schema a `Schema`. */
function resolve<TPart>(part: TPart, components: Components): TPart {
  return JSON.parse(JSON.stringify(part), (_, value) => {
    if (Array.isArray(value?.type)) return { ...value, type: value.type[0], isNullable: true }
    if (typeof value?.$ref !== 'string') return value
    const component = value.$ref.split('/').at(-1)
    return { ...resolve(components[component], components), ...value, component }
  })
}

/** Lists the components that a schema consists of, by name. */
export function componentsOf({ component, items, properties = {} }: Schema): string[] {
  const parts = [items ?? [], Object.values(properties)].flat()
  return [component ?? [], parts.flatMap(componentsOf)].flat()
}

/** Where the values of a schema have int64s, as the exact JSON of the SDK takes it; undefined if nowhere. */
export function int64sOf({ items, properties = {}, ...own }: Schema): Int64s | undefined {
  if (isInt64(own)) return true
  if (items) return int64sOf(items)
  const fields = Object.entries(properties).map(([name, field]) => [name, int64sOf(field)] as const)
  const found = fields.filter((field): field is [string, Int64s] => field[1] !== undefined)
  return found.length > 0 ? Object.fromEntries(found) : undefined
}

export function isInt64({ type, format }: Schema): boolean {
  return type === 'integer' && format === 'int64'
}
