import { type FailedCall, PlantStoreError, RequestError } from '../errors.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import { type CallOptions, readCallOptions, type Settings } from '../options.ts'
import { type RequestInput, writeHeaders, writePath } from '../wire/request.ts'
import type { Route } from '../wire/route.ts'

/** The arguments of an operation, each only if the operation has it. */
export interface Arguments extends RequestInput {
  readonly options?: CallOptions | undefined
}

/** A call of an operation, ready to send. */
export interface Call {
  readonly operation: OperationName
  readonly route: Route
  readonly url: string
  readonly body: string | undefined
  /** The header parameters. */
  readonly headers: Readonly<Record<string, string>>
  readonly settings: Settings
}

/**
 * Prepares a call of an operation.
 *
 * @throws RequestError if an argument is invalid
 */
export function prepareCall(operation: OperationName, { options, ...input }: Arguments, client: Settings): Call {
  const route = routes[operation]
  try {
    const settings = options == null ? client : readCallOptions(options, client)
    const url = client.baseUrl + writePath(route, input)
    return { operation, route, settings, url, body: route.body?.(input.body, ''), headers: writeHeaders(route, input) }
  } catch (error) {
    throw withCall(error, { method: route.method, url: client.baseUrl + route.path, attempts: 0 })
  }
}

/** Adds the call to an error that does not have one yet. */
export function withCall(error: unknown, call: FailedCall): PlantStoreError {
  if (error instanceof PlantStoreError && error.url) return error
  const { message = String(error), cause } = Object(error)
  return new RequestError(message, call, cause ? { cause } : {})
}
