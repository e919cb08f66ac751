export { createPlantStoreClient, type PlantStoreClient } from './client.ts'
export {
  AbortError,
  ApiError,
  ConnectionError,
  type DeclaredError,
  type ErrorKind,
  MalformedResponseError,
  PlantStoreError,
  RequestError,
  TimeoutError,
  type TransportError,
  type UndeclaredError,
} from './errors.ts'
export type { Fetch, FetchInit, FetchResponse, ResponseHeaders, Signal } from './fetch.ts'
export { type ErrorName, errorCodes } from './generated/error-codes.ts'
// `export type *`, so that the types of an operation added to the contract are exported too.
export type * from './generated/operations.ts'
export type { OperationName } from './generated/routes.ts'
export type * from './generated/types.ts'
export type { Attempt, AttemptResponse, Hooks, Logger } from './hooks.ts'
export type { CallOptions, ClientOptions, TokenRequest, TokenSource } from './options.ts'
export type {
  IterateOperations,
  RawOperations,
  RawPage,
  RawResponse,
  Result,
  SafeOperations,
} from './results.ts'
