export {
  createPlantStoreClient,
  type IterateOperations,
  type PlantStoreClient,
  type RawOperations,
  type RawPage,
  type RawResponse,
  type Result,
  type SafeOperations,
} from './client.ts'
export {
  AbortError,
  ApiError,
  ConnectionError,
  type DeclaredError,
  type ErrorKind,
  MalformedResponseError,
  PlantStoreError,
  TimeoutError,
  TokenError,
  type TransportError,
  type UndeclaredError,
  UsageError,
} from './errors.ts'
export type { Fetch, FetchInit, FetchResponse, ResponseHeaders, Signal } from './fetch.ts'
export { type ErrorName, errorCodes } from './generated/error-codes.ts'
// `export type *`, so that the types of an operation added to the contract are exported too.
export type * from './generated/operations.ts'
export type { OperationName } from './generated/routes.ts'
export type * from './generated/types.ts'
export type { Attempt, AttemptResponse, Hooks, Logger, LogLevel } from './hooks.ts'
export type { CallOptions, ClientOptions, HeadersOption, TokenRequest, TokenSource } from './options.ts'
