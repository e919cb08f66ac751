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
// Generated, so that the names of an operation added tomorrow are among them.
export type * from './generated/operations.ts'
export type * from './generated/types.ts'
export type { Attempt, AttemptAnswer, Hooks, Logger } from './hooks.ts'
export type { CallOptions, ClientOptions, TokenRequest, TokenSource } from './options.ts'
export type { RawAnswer, RawPage, Result } from './results.ts'
