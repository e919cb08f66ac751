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

/** A JSON Schema with the component that it refers to, in its place. */
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
  return { operations, components: components.schemas as Record<string, Schema> }
}

function readOperation(operation: Operation, method: string, path: string) {
  const { operationId: name, requestBody, parameters } = operation
  if (RESERVED_NAMES.includes(name) || !/^[a-z]\w*$/.test(name))
    rejectContract(name, 'must be a name such as getPlant that the SDK itself does not use; rename the operation')
  const [status = '', success] = Object.entries(operation.responses).find(([each]) => each.startsWith('2')) ?? []
  const body = requestBody?.content['application/json'].schema as Schema | undefined
  const inTarget = parameters.map(({ in: part, required = false, schema, ...own }): Field => {
    return { name: own.name, parts: [part], required, schema: schema as Schema }
  })
  return {
    name,
    method,
    path,
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

/** Makes one field of an int64 that the path and the body have; any other two of one name would be confused. */
function mergeFields(operation: string, fields: readonly Field[]): Field[] {
  return [...Map.groupBy(fields, ({ name }) => name)].map(([name, same]) => {
    const parts = same.flatMap((field) => field.parts)
    const isId = !parts.includes('query') && same.every(({ schema }) => isInt64(schema) && !schema.isNullable)
    const clash = `the ${parts.join(' and the ')} have a field of this name; rename one, since the input of the SDK is one object`
    if (parts.length > 1 && !isId) rejectContract(`${operation}: ${name}`, clash)
    return { ...(same.at(-1) as Field), parts, required: same.some(({ required }) => required) }
  })
}

/** Lists the fields of an object, or of the objects of a list, as those of a body. */
export function fieldsOf({ items, ...own }: Schema): Field[] {
  const { properties = {}, required = [] } = items ?? own
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

/** Returns which fields are int64s, as the exact JSON of the SDK takes it; undefined if none is. */
export function int64sOf(fields: readonly Field[]): Readonly<Record<string, true>> | undefined {
  const found = fields.filter(({ schema }) => isInt64(schema)).map(({ name }) => [name, true])
  return found.length > 0 ? Object.fromEntries(found) : undefined
}

export function isInt64({ type, format }: Schema): boolean {
  return type === 'integer' && format === 'int64'
}
