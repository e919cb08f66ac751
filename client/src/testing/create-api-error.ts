import { readRetryAfter, retryDelay } from '../call/retry.ts'
import { ApiError } from '../errors.ts'
import { type ErrorName, errorCodes } from '../generated/error-codes.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import { errorResponse } from './response.ts'

/** What an error of {@link createApiError} has. */
export interface ApiErrorOptions {
  /** The name of the error in `errorCodes`, which decides about the status and the code. */
  readonly name: ErrorName
  /** The text of the service. Default: the reason in the error catalogue. */
  readonly message?: string | undefined
  /** Additional response headers, such as `retry-after`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The operation that failed. Default: the first one that declares the status. */
  readonly operation?: OperationName | undefined
  /** Default: a random id. */
  readonly requestId?: string | undefined
}

/**
 * Creates the error that a client throws when the service responds with an error of the catalogue, for tests that replace
 * the client.
 *
 * @example
 * const createPlant = vi.fn().mockRejectedValue(createApiError({ name: 'idTaken' }))
 */
export function createApiError({ name, message, headers, operation, requestId }: ApiErrorOptions): ApiError {
  const response = errorResponse(name, {
    ...(message !== undefined && { message }),
    headers: { ...(requestId !== undefined && { 'x-request-id': requestId }), ...headers },
  })
  const { status } = response
  const received = new Headers(response.headers)
  const head = {
    status,
    headers: received,
    requestId: received.get('x-request-id') ?? undefined,
    retryAfterMs: readRetryAfter(received.get('retry-after') ?? ''),
  }
  const declaring = (Object.keys(routes) as OperationName[]).find((each) => declares(each, status)) ?? 'getPlants'
  const { method, path, canRetry } = routes[operation ?? declaring]
  const kind = declares(operation ?? declaring, status) ? 'api' : 'undeclared'
  const error = new ApiError(kind, JSON.parse(response.body), head, {
    method,
    url: `http://plant-store.test${path}`,
    attempts: 1,
  })
  return Object.assign(error, { retryable: retryDelay(error, 0, canRetry) !== undefined })
}

function declares(operation: OperationName, status: number): boolean {
  return routes[operation].declaredErrors.includes(status)
}

/** Returns the error of the catalogue that a response of the fake has. */
export function toApiError(body: string): ApiError {
  const { error, message } = JSON.parse(body)
  const name = (Object.keys(errorCodes) as ErrorName[]).find((each) => errorCodes[each] === error) ?? 'badRequest'
  return createApiError({ name, message })
}
