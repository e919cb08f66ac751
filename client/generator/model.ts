/** The model of an SDK: what a contract says, in the forms that the SDK has. The OpenAPI document rejects all others. */
import type { Content, JsonSchema, Literal, OpenApiDocument, Operation, Parameter } from '@plant-store/contract/openapi'

/** What the SDK is generated from: the OpenAPI document, and the contract for what OpenAPI cannot express. */
export interface Source {
  readonly contract: object
  readonly document: OpenApiDocument
  readonly errorCatalogue: ErrorCatalogue
}

/** The error catalogue of the contract. */
export type ErrorCatalogue = Readonly<Record<string, { readonly code: number; readonly reason: string }>>

/** A part of a request or response. */
export type Schema =
  | { readonly kind: 'text' | 'int64' | 'integer' | 'number' | 'boolean' }
  | { readonly kind: 'literal'; readonly values: readonly Literal[] }
  | { readonly kind: 'list'; readonly items: Schema }
  | { readonly kind: 'object'; readonly fields: readonly Field[] }
  | { readonly kind: 'record'; readonly values: Schema }
  | { readonly kind: 'union'; readonly members: readonly Schema[] }
  | { readonly kind: 'component'; readonly name: string }

/** A field of an object, or a parameter. */
export interface Field {
  readonly name: string
  readonly required: boolean
  /** The text of its doc comment. */
  readonly documentation: string
  readonly schema: Schema
}

/** A schema with a name. */
interface Component {
  readonly documentation: string
  readonly schema: Schema
}

/** The components of a document, by name. */
export type Components = Readonly<Record<string, Component>>

/** A success status, with its content if it has any. */
export interface ResponseModel {
  readonly status: number
  readonly schema: Schema | undefined
}

/** Where a parameter is. */
export type ParameterPlace = Parameter['in']

/** An operation. */
export interface OperationModel {
  readonly name: string
  readonly method: string
  /** The path, with its parameters as `{name}`. */
  readonly path: string
  readonly description: string
  readonly deprecated: boolean
  readonly parameters: Readonly<Record<ParameterPlace, readonly Field[]>>
  readonly body: Schema | undefined
  readonly responses: readonly ResponseModel[]
  readonly declaredErrors: readonly number[]
  readonly paged: boolean
  readonly idempotent: boolean
}

/** A whole SDK. */
export interface Model {
  readonly components: Components
  readonly operations: readonly OperationModel[]
}

/** The component of every error response. */
export const ERROR = 'Error'

/** Names that the client itself uses; with `then`, a client would be awaited like a promise. */
const RESERVED_NAMES = ['safe', 'raw', 'iterate', 'withOptions', 'then', 'toJSON', 'constructor']

/** Rejects a contract. */
export function reject(place: string, reason: string): never {
  throw new Error(`${place}: ${reason}`)
}

/** Reads the model of an SDK. */
export function readModel({ contract, document }: Source): Model {
  const components = Object.fromEntries(
    Object.entries(document.components.schemas).map(([name, json]) => {
      return [name, { documentation: documentationOf(json), schema: readSchema(json) }]
    }),
  )
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { metadata = {} } = (contract as Record<string, { metadata?: object }>)[operation.operationId] ?? {}
      return readOperation(operation, method.toUpperCase(), path, metadata)
    }),
  )
  if (operations.length === 0) reject('The contract', 'has no operation; add one')
  return { components, operations }
}

function readOperation(
  { operationId: name, description, summary, deprecated = false, requestBody, parameters = [], responses }: Operation,
  method: string,
  path: string,
  { paged = false, idempotent = true }: { readonly paged?: boolean; readonly idempotent?: boolean },
): OperationModel {
  if (RESERVED_NAMES.includes(name)) reject(name, 'the SDK uses this name; rename the operation')
  if (!/^[a-z]\w*$/.test(name)) reject(name, 'must be a name such as getPlant; rename the operation')
  const statuses = Object.keys(responses).map(Number)
  const fieldsOf = (place: ParameterPlace): Field[] =>
    parameters.filter((parameter) => parameter.in === place).map((parameter) => readField(parameter, parameter.schema))
  return {
    name,
    method,
    path,
    description: description ?? summary ?? name,
    deprecated,
    parameters: { path: fieldsOf('path'), query: fieldsOf('query'), header: fieldsOf('header') },
    body: readContent(requestBody?.content),
    responses: statuses
      .filter((status) => status < 300)
      .map((status) => ({ status, schema: readContent(responses[status]?.content) })),
    declaredErrors: statuses.filter((status) => status >= 400),
    paged,
    idempotent,
  }
}

function readContent(content: Content | undefined): Schema | undefined {
  return content && readSchema(content['application/json'].schema)
}

function readField({ name, required = false }: { name: string; required?: boolean }, json: JsonSchema): Field {
  return { name, required, documentation: documentationOf(json), schema: readSchema(json) }
}

function readSchema(json: JsonSchema = {}): Schema {
  const { $ref, anyOf, type, format, enum: values = 'const' in json ? [json.const ?? null] : undefined } = json
  if ($ref !== undefined) return { kind: 'component', name: $ref.slice($ref.lastIndexOf('/') + 1) }
  if (anyOf) return readUnion(anyOf.map(readSchema))
  if (values) return { kind: 'literal', values }
  if (type === 'string') return { kind: 'text' }
  if (type === 'null') return { kind: 'literal', values: [null] }
  if (type === 'array') return { kind: 'list', items: readSchema(json.items) }
  if (type === 'integer') return { kind: format === 'int64' ? 'int64' : 'integer' }
  if (type !== 'object') return { kind: type ?? reject('The document', 'has a schema without a type') }
  const { properties, required = [], additionalProperties } = json
  if (!properties && additionalProperties) return { kind: 'record', values: readSchema(additionalProperties) }
  const fields = Object.entries(properties ?? {})
  return {
    kind: 'object',
    fields: fields.map(([name, field]) => readField({ name, required: required.includes(name) }, field)),
  }
}

/** Creates a union without unions in it, and with all literals in one. */
function readUnion(members: readonly Schema[]): Schema {
  const flat = members.flatMap((member) => (member.kind === 'union' ? member.members : [member]))
  const values = flat.flatMap((member) => (member.kind === 'literal' ? member.values : []))
  const others = flat.filter(({ kind }) => kind !== 'literal')
  const all: Schema[] = values.length > 0 ? [...others, { kind: 'literal', values: [...new Set(values)] }] : others
  return all.length === 1 && all[0] ? all[0] : { kind: 'union', members: all }
}

/** Writes the doc comment of a value: description, format, default, example and deprecation. */
function documentationOf({ title = '', description = title, ...json }: JsonSchema): string {
  const format = json.type === 'string' && json.format !== undefined && `Format: ${json.format}.`
  const tags = [
    json.default !== undefined && `@default ${JSON.stringify(json.default)}`,
    json.examples && `@example ${JSON.stringify(json.examples[0])}`,
    json.deprecated && '@deprecated',
  ]
  return [[description, format].filter(Boolean).join(' '), ...tags].filter(Boolean).join('\n\n')
}

/** Returns a schema that is not a reference to a component. */
export function resolve(schema: Schema, components: Components): Schema {
  const target = schema.kind === 'component' && components[schema.name]
  return target ? resolve(target.schema, components) : schema
}

/** Returns the direct parts of a schema. */
export function partsOf(schema: Schema): readonly Schema[] {
  if (schema.kind === 'list') return [schema.items]
  if (schema.kind === 'record') return [schema.values]
  if (schema.kind === 'union') return schema.members
  return schema.kind === 'object' ? schema.fields.map((field) => field.schema) : []
}

/** Returns what an operation sends. */
export function schemasOfRequest({ body, parameters }: OperationModel): Schema[] {
  const fields = Object.values(parameters).flat()
  return [...(body ? [body] : []), ...fields.map(({ schema }) => schema)]
}

/** Returns what an operation receives. */
export function schemasOfResponse({ responses }: OperationModel): Schema[] {
  return responses.flatMap(({ schema }) => schema ?? [])
}
