import type { Failure } from '../errors.ts'
import type { FieldsWriter } from './fields.ts'
import type { Reader } from './read.ts'
import type { Writer } from './write-scalar.ts'

/** How to send an operation, and how the service may respond. */
export interface Route {
  readonly method: string
  /** The path, with its parameters as `{name}`. */
  readonly path: string
  readonly pathParameters?: FieldsWriter
  readonly body?: Writer
  readonly query?: FieldsWriter
  readonly headers?: FieldsWriter
  /** The reader of the content of each success status that the contract declares. */
  readonly responses: Readonly<Record<number, Reader>>
  readonly paged?: true
  /** Whether it can be retried after a failure. Default: if the failure may pass. */
  readonly canRetry?: (failure: Failure) => boolean
  /** The error statuses that the contract declares. */
  readonly declaredErrors: readonly number[]
}
