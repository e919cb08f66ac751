export * from './client.ts'
export {
  AbortError,
  ApiError,
  ConnectionError,
  type ErrorKind,
  type Issue,
  MalformedResponseError,
  PlantStoreError,
  type ResponseHeaders,
  TimeoutError,
  TokenError,
  UsageError,
} from './errors.ts'
export { type ErrorCode, type ErrorName, errorCodes } from './generated/error-codes.ts'
// `export type *`, so that the types of an operation added to the contract are exported too.
export type * from './generated/operations.ts'
export type { OperationName } from './generated/routes.ts'
export type * from './generated/types.ts'
export type { Attempt, AttemptResponse, Hooks } from './hooks.ts'
export { type InvalidId, parseId } from './ids.ts'
export type {
  CallOptions,
  ClientOptions,
  Fetch,
  FetchInit,
  FetchResponse,
  HeadersOption,
  Signal,
  TokenRequest,
  TokenSource,
} from './options.ts'
