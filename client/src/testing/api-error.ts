import { ApiError } from '../errors.ts'
import { type ErrorName, errorCodes, errorReasons } from '../generated/error-codes.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import { retryDelay } from '../retry.ts'
import { readHead } from '../wire/read.ts'
import { readHeaders, withoutNull } from '../wire/request.ts'
import { reject, requireKnown } from '../wire/write.ts'
import { jsonResponse } from './fetch.ts'

/** What an error of {@link createApiError} has. */
export interface ApiErrorOptions {
  /** The name of the error in `errorCodes`, which decides about the status and the code. */
  readonly name: ErrorName
  /** The text of the service. Default: the reason in the error catalogue. */
  readonly message?: string | undefined
  /** Additional response headers, such as `retry-after` or `x-request-id`, which is random by default. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The operation that failed. Default: the first one that declares the status. */
  readonly operation?: OperationName | undefined
}

/**
 * Creates the error that a client throws when the service responds with an error of the catalogue, for tests that replace
 * the client.
 *
 * @throws {UsageError} An option is invalid: the message names it.
 *
 * @example
 * const createPlant = vi.fn().mockRejectedValue(createApiError({ name: 'idTaken' }))
 */
export function createApiError(options: ApiErrorOptions): ApiError {
  requireKnown(options, ['name', 'message', 'headers', 'operation'], 'options')
  const { name, message = errorReasons[name], headers = {} } = options
  if (!Object.hasOwn(errorCodes, name)) reject('name', 'is not an error of the catalogue; use a name in errorCodes')
  const code = errorCodes[name]
  const status = Math.floor(code / 100)
  const body = { error: code, message }
  const declares = (each: OperationName): boolean => routes[each].declaredErrors.includes(status)
  const { operation = (Object.keys(routes) as OperationName[]).find(declares) ?? 'getPlants' } = options
  if (!Object.hasOwn(routes, operation)) reject('operation', 'is not an operation of the client')
  const { method, path, canRetry } = routes[operation]
  const call = { method, url: `http://plant-store.test${path}`, attempts: 1, authorization: undefined }
  const response = jsonResponse(status, body, withoutNull(readHeaders(headers)))
  const head = readHead(status, new Headers(response.headers), call)
  const error = new ApiError(declares(operation) ? 'api' : 'undeclared', body, head, call)
  return Object.assign(error, { retryable: retryDelay(error, 0, canRetry) !== undefined })
}
