import type { OpenApiDocument } from '@plant-store/contract/openapi'

/** The part of a JSON Schema that the generator reads. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema
}

/** What the generator needs to know about an operation. */
export interface OperationDescription {
  readonly name: string
  readonly method: string
  /** The path, with its parameters as `{name}`. */
  readonly path: string
  readonly description: string
  readonly pathParameters: JsonSchema | undefined
  readonly body: JsonSchema | undefined
  readonly query: JsonSchema | undefined
  readonly response: JsonSchema
  readonly declaredErrors: readonly number[]
  readonly paged: boolean
}

/** The error catalogue of the contract. */
export type ErrorCatalogue = Readonly<Record<string, { readonly code: number; readonly reason: string }>>

/** What the SDK is generated from: the OpenAPI document, and the contract for what OpenAPI cannot express. */
export interface Source {
  readonly contract: object
  readonly document: OpenApiDocument
  readonly errorCatalogue: ErrorCatalogue
}

/** The parsed source. */
export interface Description {
  readonly schemas: Readonly<Record<string, JsonSchema>>
  readonly operations: readonly OperationDescription[]
  readonly errorCatalogue: ErrorCatalogue
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>
}

interface Parameter {
  readonly in: string
  readonly name: string
  readonly required?: boolean
  readonly schema: JsonSchema
}

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}

/** Parses the source into what the SDK needs. */
export function describe({ contract, document, errorCatalogue }: Source): Description {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, operation]) => ({
      ...describeOperation(operation),
      method: method.toUpperCase(),
      path,
      paged: isPaged(contract, operation.operationId),
    })),
  )
  return { schemas: (document.components?.schemas ?? {}) as Description['schemas'], operations, errorCatalogue }
}

function describeOperation(operation: Operation): Omit<OperationDescription, 'method' | 'path' | 'paged'> {
  const name = operation.operationId
  const statuses = Object.keys(operation.responses).map(Number)
  const [success, ...others] = statuses.filter((status) => status < 400)
  const response = success === undefined ? undefined : jsonSchema(operation.responses[success])
  if (!response || others.length > 0) throw new Error(`${name}: must declare one success status, with a JSON body`)
  return {
    name,
    description: operation.description ?? operation.summary ?? name,
    pathParameters: parametersSchema(operation.parameters, 'path'),
    body: jsonSchema(operation.requestBody),
    query: parametersSchema(operation.parameters, 'query'),
    response,
    declaredErrors: statuses.filter((status) => status >= 400),
  }
}

function jsonSchema(message: Content | undefined): JsonSchema | undefined {
  return message?.content?.['application/json']?.schema
}

function parametersSchema(parameters: readonly Parameter[] = [], place: string): JsonSchema | undefined {
  const chosen = parameters.filter((parameter) => parameter.in === place)
  if (chosen.length === 0) return undefined
  return {
    type: 'object',
    properties: Object.fromEntries(chosen.map(({ name, schema }) => [name, schema])),
    required: chosen.filter(({ required }) => required).map(({ name }) => name),
  }
}

function isPaged(contract: object, name: string): boolean {
  const operation = (contract as Record<string, { metadata?: { paged?: boolean } }>)[name]
  return operation?.metadata?.paged === true
}
