/** What the OpenAPI document says of operations, in the forms that the SDK has. The document has rejected all others. */
import type { Content, JsonSchema, Literal, OpenApiDocument, Operation, Parameter } from '@plant-store/contract/openapi'

/** The schemas with a name. */
export type Components = Readonly<Record<string, JsonSchema>>

/** An operation. */
export type OperationModel = ReturnType<typeof readOperation>

/** Names that the client itself uses; with `then`, a client would be awaited like a promise. */
const RESERVED_NAMES = ['safe', 'raw', 'iterate', 'withOptions', 'then', 'toJSON', 'constructor']

/** Rejects a contract. */
export function reject(place: string, reason: string): never {
  throw new Error(`${place}: ${reason}`)
}

/** Reads the operations of an SDK. */
export function readOperations({ paths }: Pick<OpenApiDocument, 'paths'>): OperationModel[] {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => readOperation(operation, method.toUpperCase(), path)),
  )
  if (operations.length === 0) reject('The contract', 'has no operation; add one')
  return operations
}

function readOperation(operation: Operation, method: string, path: string) {
  const { operationId: name, description, summary, deprecated = false } = operation
  const { requestBody, parameters = [], responses } = operation
  if (RESERVED_NAMES.includes(name)) reject(name, 'the SDK uses this name; rename the operation')
  if (!/^[a-z]\w*$/.test(name)) reject(name, 'must be a name such as getPlant; rename the operation')
  const statuses = Object.keys(responses).map(Number)
  return {
    name,
    method,
    /** The scope that a token must have. */
    scope: operation.security[0]?.bearer[0] ?? '',
    /** The path, with its parameters as `{name}`. */
    path,
    description: description ?? summary ?? name,
    deprecated,
    pathParameters: parametersIn('path', parameters),
    query: parametersIn('query', parameters),
    headers: parametersIn('header', parameters),
    body: schemaOf(requestBody?.content),
    /** Each success status, with the schema of its content if it has any. */
    responses: statuses
      .filter((status) => status < 300)
      .map((status) => ({ status, schema: schemaOf(responses[status]?.content) })),
    declaredErrors: statuses.filter((status) => status >= 400),
    paged: operation['x-paged'] ?? false,
    idempotent: operation['x-idempotent'],
  }
}

/** Returns the parameters of one place as an object; undefined if there is none. */
function parametersIn(place: Parameter['in'], parameters: readonly Parameter[]): JsonSchema | undefined {
  const own = parameters.filter((parameter) => parameter.in === place)
  if (own.length === 0) return undefined
  const required = own.filter((parameter) => parameter.required).map(({ name }) => name)
  return { type: 'object', properties: Object.fromEntries(own.map(({ name, schema }) => [name, schema])), required }
}

function schemaOf(content: Content | undefined): JsonSchema | undefined {
  return content?.['application/json'].schema
}

/** Lists the fields of an object. */
export function fieldsOf({ properties = {}, required = [] }: JsonSchema) {
  return Object.entries(properties).map(([name, schema]) => ({ name, required: required.includes(name), schema }))
}

/** Lists the values of a literal. */
export function valuesOf(schema: JsonSchema): readonly Literal[] | undefined {
  if (schema.type === 'null') return [null]
  return schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
}

export function isInt64({ type, format }: JsonSchema): boolean {
  return type === 'integer' && format === 'int64'
}

/** Returns the name of the component that a reference leads to. */
export function targetOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** Lists the alternatives of a schema, which are neither unions nor references. */
export function alternativesOf(schema: JsonSchema, components: Components): JsonSchema[] {
  const target = schema.$ref === undefined ? schema : components[targetOf(schema.$ref)]
  if (target?.$ref !== undefined) return alternativesOf(target, components)
  return target?.anyOf?.flatMap((member) => alternativesOf(member, components)) ?? (target ? [target] : [])
}

/** Collects schemas with all their parts, also in the components that they refer to. */
export function collectParts(
  schemas: readonly (JsonSchema | false | undefined)[],
  components: Components,
  parts = new Set<JsonSchema>(),
): Set<JsonSchema> {
  for (const schema of schemas) {
    if (!schema || parts.has(schema)) continue
    parts.add(schema)
    const { $ref, items, additionalProperties, anyOf = [], properties = {} } = schema
    const target = $ref === undefined ? undefined : components[targetOf($ref)]
    collectParts([target, items, additionalProperties, ...anyOf, ...Object.values(properties)], components, parts)
  }
  return parts
}
