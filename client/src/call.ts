import { type CallInfo, ConnectionError, PlantStoreError, UsageError } from './errors.ts'
import { type OperationName, routes } from './generated/routes.ts'
import { mergeOptions, type Settings } from './settings.ts'
import { orUndefined, rejectArgument } from './values.ts'
import { defaultHeaders, type Fields, type Route, withoutNull, writeRequest } from './wire/request.ts'

/** A call of an operation, and how far it is. */
export interface Call extends CallInfo {
  readonly operation: OperationName
  readonly route: Route
  /** The options of the call, merged into those of its client. */
  readonly settings: Settings
  /** All headers of the request but that of the token, names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The JSON to send; undefined for none. */
  readonly body: string | undefined
  /** The requests that were sent: an attempt without a token, or with a hook that failed, sends none. */
  attempts: number
  retries: number
  /** What the last retry has cost. */
  lastCost?: number
  /** The token of the next attempt, or the function that returns it. */
  token: Settings['token']
  /** Whether the function can be asked for a token once more, after a 401. */
  renewable: boolean
  /** Whether the request had a condition, which a hook may have added, so that a 304 is expected too. */
  isConditional?: boolean
  lastFailure?: PlantStoreError | undefined
}

/**
 * Prepares a call of an operation.
 *
 * @param parameters what the operation was called with: the input, and options
 * @param page fields that replace those of the input
 * @throws {UsageError} if one of them is invalid
 */
export function prepareCall(
  operation: OperationName,
  parameters: readonly unknown[],
  client: Settings,
  page?: Fields,
): Call {
  const route = routes[operation]
  try {
    const [input, options] = parameters
    if (parameters.length > 2) rejectArgument('arguments', 'must be input and options only')
    const settings = options == null ? client : mergeOptions(options, client, 'options.')
    const { target, body } = writeRequest(route, input ?? {}, page)
    const headers = withoutNull({ ...defaultHeaders(body), ...settings.headers })
    const { token } = settings
    const state = { attempts: 0, retries: 0, token, renewable: typeof token === 'function' }
    return { operation, route, method: route.method, url: client.baseUrl + target, settings, headers, body, ...state }
  } catch (error) {
    throw toError(error, { method: route.method, url: client.baseUrl + route.path, attempts: 0 })
  }
}

/** Adds the call to an error about usage. Any other error is that of `fetch`, or before it of a getter of the app. */
export function toError(thrown: unknown, call: CallInfo): PlantStoreError {
  if (thrown instanceof UsageError) return new UsageError(thrown.issues, call, thrown.cause)
  if (thrown instanceof PlantStoreError) return thrown
  const reason = reasonOf(thrown)
  if (call.attempts === 0) return new UsageError([{ path: 'input', message: `failed${reason}` }], call, thrown)
  return new ConnectionError('connection', `connection failed${reason}`, call, { cause: thrown }) as PlantStoreError
}

/**
 * Returns why a function failed, to be appended to a message. The message of a network error is only `fetch failed`.
 */
export function reasonOf(error: unknown): string {
  const fields = Object(error)
  return orUndefined(() => `: ${fields.cause?.message || fields.cause?.code || fields.message || error}`) ?? ''
}
