import { type Field, type JsonSchema, reject, type Schema } from './schema.ts'

/** A success status, with its content if it has any. */
export interface ResponseDescription {
  readonly status: number
  readonly schema: Schema | undefined
}

/** What the generator needs to know about an operation. */
export interface OperationDescription {
  readonly name: string
  readonly method: string
  /** The path, with its parameters as `{name}`. */
  readonly path: string
  readonly description: string
  readonly deprecated: boolean
  readonly parameters: Readonly<Record<ParameterPlace, readonly Field[]>>
  readonly body: Schema | undefined
  readonly responses: readonly ResponseDescription[]
  readonly declaredErrors: readonly number[]
  readonly scope: string
  readonly paged: boolean
  readonly idempotent: boolean
}

/** Where a parameter is. */
export type ParameterPlace = 'path' | 'query' | 'header'

/** A schema with a name. */
export interface Component {
  readonly description: JsonSchema
  readonly schema: Schema
}

/** The component of every error response. */
export const ERROR = 'Error'

/** The components of a document, by name. */
export type Components = Readonly<Record<string, Component>>

/** The error catalogue of the contract. */
export type ErrorCatalogue = Readonly<Record<string, { readonly code: number; readonly reason: string }>>

/** The parsed source. */
export interface Description {
  readonly components: Components
  readonly operations: readonly OperationDescription[]
}

/** Returns a schema that is not a reference to a component. */
export function resolve(schema: Schema, components: Components): Schema {
  if (schema.kind !== 'component') return schema
  const target = components[schema.name]
  return target ? resolve(target.schema, components) : reject(schema.name, 'the component does not exist')
}

/** Returns the direct parts of a schema. */
export function partsOf(schema: Schema): readonly Schema[] {
  if (schema.kind === 'list') return [schema.items]
  if (schema.kind === 'record') return [schema.values]
  if (schema.kind === 'union') return schema.members
  return schema.kind === 'object' ? schema.fields.map((field) => field.schema) : []
}

/** Returns everything that an operation sends and receives. */
export function schemasOf(operation: OperationDescription): Schema[] {
  return [...schemasOfRequest(operation), ...schemasOfResponse(operation)]
}

/** Returns what an operation sends. */
export function schemasOfRequest({ body, parameters }: OperationDescription): Schema[] {
  const fields = Object.values(parameters).flat()
  return [...(body ? [body] : []), ...fields.map(({ schema }) => schema)]
}

/** Returns what an operation receives. */
export function schemasOfResponse({ responses }: OperationDescription): Schema[] {
  return responses.flatMap(({ schema }) => schema ?? [])
}
