/** What of an OpenAPI 3.1 document the SDK is generated from. */
import type { ErrorBody, Scope } from './contract.ts'

/** A JSON Schema as the document has it. Other keywords are annotations, or are for the service to check. */
export interface JsonSchema {
  readonly $ref?: string
  /** `[type, 'null']` where `null` is a value too. */
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly string[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly description?: string
  readonly deprecated?: boolean
  readonly examples?: readonly unknown[]
  readonly [keyword: string]: unknown
}

/** The schemas that have an id, by it. */
export type Components = Record<string, JsonSchema>

/** A body, by its media type. */
export interface Content {
  readonly 'application/json': {
    readonly schema: JsonSchema
    /** Of an error response: each error that it may have, by its name. */
    readonly examples?: Readonly<Record<string, { readonly value: ErrorBody }>>
  }
}

/** A parameter of a path or a query. */
export interface Parameter {
  readonly in: 'path' | 'query'
  readonly name: string
  readonly required: true | undefined
  readonly description: string | undefined
  readonly deprecated: boolean | undefined
  readonly schema: JsonSchema
}

/** A response of an operation. One without content has no body. */
export interface ResponseObject {
  readonly description: string
  readonly content: Content | undefined
  readonly headers: Readonly<Record<string, object>>
}

/** An operation of the document. What is undefined is not served. */
export interface Operation {
  readonly operationId: string
  readonly summary: string | undefined
  readonly description: string
  readonly tags: readonly string[] | undefined
  readonly deprecated: boolean | undefined
  /** The scope that the token must have. */
  readonly security: readonly [{ readonly bearer: readonly [Scope] }]
  /** Whether a client may send it again after a failure in which it may have been processed. */
  readonly 'x-idempotent': boolean
  /** Whether it has `limit` and `cursor`, and its responses links to the next page and to their end. */
  readonly 'x-paged': boolean
  readonly parameters: readonly Parameter[]
  readonly requestBody: { readonly required: true; readonly content: Content } | undefined
  /** By status. */
  readonly responses: Readonly<Record<string, ResponseObject>>
}

/** An OpenAPI 3.1 document. Other fields are for people and for other tools. */
export interface OpenApiDocument {
  readonly info: Readonly<Record<string, unknown>> & { readonly version: string }
  /** The operations, by path and method in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Components; readonly securitySchemes: object }
  readonly [field: string]: unknown
}
