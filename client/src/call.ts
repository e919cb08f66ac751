import {
  AbortError,
  type FailedCall,
  PlantStoreError,
  RequestError,
  type ResponseHead,
  TimeoutError,
} from './errors.ts'
import type { FetchInit, Signal } from './fetch.ts'
import { type OperationName, routes } from './generated/routes.ts'
import { type Attempt, observe } from './hooks.ts'
import { type CallOptions, checkToken, readCallOptions, type Settings } from './options.ts'
import { readRetryAfter, redactToken, retryDelay, toFetchError } from './retry.ts'
import { type Route, readData } from './wire/read.ts'
import { defaultHeaders, type RequestInput, readHeaders, writeHeaders, writePath } from './wire/request.ts'
import { reject } from './wire/write.ts'

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
function withCall(error: unknown, call: FailedCall): PlantStoreError {
  if (error instanceof PlantStoreError && error.url) return error
  const { message = String(error), cause } = Object(error)
  return new RequestError(message, call, cause ? { cause } : {})
}

/** The response of a successful call. */
export interface CallResponse {
  readonly data: unknown
  readonly head: ResponseHead
  readonly call: FailedCall
  /** Removes the token from a text of the response. */
  redact(text: string): string
}

/** A call while its requests are counted. */
interface CountedCall extends FailedCall {
  attempts: number
}

/**
 * Sends a call, with retries.
 *
 * @throws PlantStoreError of any kind
 */
export async function sendCall(prepared: Call): Promise<CallResponse> {
  const { operation, route, url, body, headers: parameters, settings } = prepared
  const { timeout, retries, token: source, signal: signals, hooks, logger } = settings
  const fetch = settings.fetch ?? globalThis.fetch ?? reject('fetch', 'set the option or globalThis.fetch')
  const { method } = route
  // Undefined until an attempt gets the token.
  let authorization = source ? undefined : settings.headers['authorization']
  // The service responded 401 to an earlier token.
  let rejected = false
  let retried = 0
  const redact = (text: string): string => redactToken(text, authorization)
  for (let number = 1; ; number++) {
    const { authorization: _, ...headers } = { ...defaultHeaders(body), ...settings.headers, ...parameters }
    const attempt = { operation, method, url, number, headers }
    const call = { method, url, attempts: number - 1 }
    try {
      return await send(attempt, call)
    } catch (thrown) {
      const error = thrown instanceof PlantStoreError ? withCall(thrown, call) : toFetchError(thrown, call, redact)
      const delay = nextDelay(error)
      for (const hook of hooks) observe(() => hook?.error?.(attempt, error, delay))
      if (delay === undefined) throw error
      if (delay === 0) continue
      observe(() => logger?.warn(`${error.message}; retrying in ${Math.ceil(delay)} ms`))
      const deadline = startDeadline(delay, signals, call)
      await deadline.reached.finally(deadline.dispose)
    }
  }

  /** Sends one request and reads the response, within the timeout. */
  async function send(attempt: Attempt, call: CountedCall): Promise<CallResponse> {
    const start = performance.now()
    const deadline = startDeadline(timeout, signals, call)
    try {
      const received = await Promise.race([deadline.reached, exchange()])
      if (!received) throw new TimeoutError(`timed out after ${timeout} ms`, call, { kind: 'timeout' })
      const response = { head: received.head, call, redact }
      // Without a listener, reporting would cost every call two promises.
      if (hooks.length || logger) report(response.head)
      return { ...response, data: readData(received, route, response) }
    } finally {
      deadline.dispose()
    }

    async function exchange(): Promise<{ head: ResponseHead; text: string }> {
      deadline.signal.throwIfAborted()
      if (source && !authorization) {
        const found = typeof source === 'string' ? source : await callback('token', () => source({ rejected }))
        // A later attempt may be in flight by now.
        deadline.signal.throwIfAborted()
        checkToken(found)
        authorization = `Bearer ${found}`
      }
      for (const hook of hooks) await callback('hooks.request', () => hook?.request?.(attempt))
      const headers = hooks.length ? readHeaders(attempt.headers) : attempt.headers
      deadline.signal.throwIfAborted()
      // This attempt counts from the moment it is sent.
      call.attempts = attempt.number
      const response = await fetch(url, {
        method,
        headers: authorization ? { ...headers, authorization } : headers,
        body,
        // Following a redirect would pass on the token, and turn a POST into a GET.
        redirect: 'manual',
        signal: deadline.signal,
      } as object as FetchInit)
      const { status, headers: received } = response
      const requestId = redact(received.get('x-request-id') ?? '') || undefined
      const head = {
        status,
        headers: received,
        requestId,
        retryAfterMs: readRetryAfter(received.get('retry-after') ?? ''),
      }
      return { head, text: await response.text() }
    }

    function report(head: ResponseHead): void {
      const duration = performance.now() - start
      for (const hook of hooks) observe(() => hook?.response?.(attempt, { ...head, duration }))
      observe(() =>
        logger?.debug(
          `${method} ${url}: ${head.status} in ${duration.toFixed(1)} ms, request ${head.requestId ?? '-'}`,
        ),
      )
    }
  }

  /** Returns the delay before the next attempt in milliseconds; undefined if the call has failed. */
  function nextDelay(error: PlantStoreError & { readonly status?: number }): number | undefined {
    const isStale = error.status === 401 && typeof source === 'function' && !rejected
    const delay = isStale ? 0 : retryDelay(error, retried, route.canRetry)
    Object.assign(error, { retryable: delay !== undefined })
    if (!isStale) return retried++ < retries ? delay : undefined
    authorization = undefined
    rejected = true
    return delay
  }
}

/** Runs a callback of the app, so that its error is not taken for a network error. */
async function callback<T>(name: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (cause) {
    throw new RequestError(`${name}: the function failed`, undefined, { cause })
  }
}

/** The longest delay of a timer in milliseconds, 24 days. A longer time sets no limit. */
const MAX_TIMER = 2 ** 31 - 1

/** Ends work when its time is up or a signal is aborted. */
export interface Deadline {
  /** Aborted when the work must end. */
  readonly signal: Signal
  /** Resolves when the time is up, and rejects with an `AbortError` when a signal is aborted. */
  readonly reached: Promise<void>
  /** Must be called when the work is done. */
  dispose(): void
}

/**
 * @param time in milliseconds; `Infinity` for no limit
 * @param call the call that an `AbortError` belongs to
 */
function startDeadline(time: number, signals: readonly Signal[], call: FailedCall | PlantStoreError): Deadline {
  const controller = new AbortController()
  let settle: [resolve: () => void, reject: (error: unknown) => void]
  const reached = new Promise<void>((...functions) => {
    settle = functions
  })
  const timer = time > MAX_TIMER ? undefined : setTimeout(end, time)
  const abort = (): void => {
    const aborted = signals.find((signal) => signal.aborted)
    if (aborted) end(new AbortError('aborted by the signal', call, { kind: 'aborted', cause: aborted.reason }))
  }
  for (const signal of signals) signal.addEventListener('abort', abort)
  abort()
  return { signal: controller.signal, reached, dispose }

  function end(error?: AbortError): void {
    if (error) settle[1](error)
    else settle[0]()
    controller.abort()
  }

  function dispose(): void {
    clearTimeout(timer)
    for (const signal of signals) signal.removeEventListener('abort', abort)
  }
}
