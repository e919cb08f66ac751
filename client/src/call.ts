import {
  AbortError,
  type FailedCall,
  PlantStoreError,
  type ResponseHead,
  TimeoutError,
  TokenError,
  UsageError,
} from './errors.ts'
import type { FetchInit, Signal } from './fetch.ts'
import { type OperationName, routes } from './generated/routes.ts'
import { type Attempt, logHooks, observe } from './hooks.ts'
import { type CallOptions, checkToken, readCallOptions, type Settings } from './options.ts'
import { readRetryAfter, reasonOf, redactToken, retryDelay, toFetchError } from './retry.ts'
import { type Route, readData } from './wire/read.ts'
import { defaultHeaders, readHeaders, withoutNull, writeHeaders, writePath } from './wire/request.ts'
import { reject } from './wire/write.ts'

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

/** The parameters of operations, in their order, each only if the operation has it. Options follow. */
const PARAMETERS = ['pathParameters', 'body', 'query', 'headers'] as const

/**
 * Prepares a call of an operation.
 *
 * @param parameters what the operation was called with
 * @throws UsageError if one of them is invalid
 */
export function prepareCall(operation: OperationName, parameters: readonly unknown[], client: Settings): Call {
  const route = routes[operation]
  try {
    const names = PARAMETERS.filter((name) => route[name])
    const input = Object.fromEntries(names.map((name, index) => [name, parameters[index]]))
    const [options, ...others] = parameters.slice(names.length)
    if (others.length) reject('options', 'must be the last argument')
    const settings = options == null ? client : readCallOptions(options as CallOptions, client)
    const url = client.baseUrl + writePath(route, input)
    return {
      ...{ operation, route, settings, url },
      body: route.body?.(input['body'], ''),
      headers: writeHeaders(route, input),
    }
  } catch (error) {
    throw withCall(error, { method: route.method, url: client.baseUrl + route.path, attempts: 0 })
  }
}

/** Adds the call to an error that does not have one yet. */
function withCall(error: unknown, call: FailedCall): PlantStoreError {
  if (error instanceof PlantStoreError && error.url) return error
  const { message = String(error), cause } = Object(error)
  return new UsageError(message, call, cause ? { cause } : {})
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
  const { timeout, retries, token: source, signal: signals, logger } = settings
  const hooks = settings.hooks.concat(logHooks(logger, settings.logLevel ?? (logger && 'warn')))
  const { fetch = globalThis.fetch ?? reject('fetch', 'set the option or globalThis.fetch') } = settings
  const { method } = route
  const { authorization: own, ...headers } = withoutNull({
    ...defaultHeaders(body),
    ...settings.headers,
    ...parameters,
  })
  // Undefined until an attempt gets the token. With the token `false`, it is the header of the app.
  let authorization = own
  // What the last request was sent with: a hook may have set it.
  let sent = own
  // The service responded 401 to an earlier token.
  let rejected = false
  let retried = 0
  // How many requests were sent.
  let attempts = 0
  const redact = (text: string): string => redactToken(text, sent)
  for (let number = 1; ; number++) {
    const attempt = { operation, method, url, number, headers: { ...headers } }
    const call = { method, url, attempts }
    try {
      return await send(attempt, call)
    } catch (thrown) {
      const error = thrown instanceof PlantStoreError ? withCall(thrown, call) : toFetchError(thrown, call, redact)
      const delay = nextDelay(error)
      for (const hook of hooks) observe(() => hook.error?.(attempt, error, delay))
      if (delay === undefined) throw error
      if (delay === 0) continue
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
      const { head } = received
      const duration = performance.now() - start
      for (const hook of hooks) observe(() => hook.response?.(attempt, { ...head, duration }))
      const response = { head, call, redact }
      return { ...response, data: readData(received, route, response) }
    } finally {
      deadline.dispose()
    }

    async function exchange(): Promise<{ head: ResponseHead; text: string }> {
      deadline.signal.throwIfAborted()
      if (source !== false && !authorization) {
        const isFunction = typeof source === 'function'
        const token = isFunction ? await callback('token', () => source({ rejected })) : source
        // A later attempt may be in flight by now.
        deadline.signal.throwIfAborted()
        checkToken(isFunction ? token : (token ?? ''), isFunction ? 'the function returned' : 'is')
        authorization = `Bearer ${token}`
      }
      for (const hook of hooks) await callback('hooks.request', () => hook.request?.(attempt))
      const { authorization: added, ...rest } = hooks.length
        ? withoutNull(readHeaders(attempt.headers))
        : attempt.headers
      if (added && authorization) reject('token', 'must be false if hooks add Authorization')
      sent = authorization ?? added
      deadline.signal.throwIfAborted()
      call.attempts = ++attempts
      const response = await fetch(url, {
        method,
        headers: sent ? { ...rest, authorization: sent } : rest,
        body,
        // Following a redirect would pass on the token, and turn a POST into a GET.
        redirect: 'manual',
        signal: deadline.signal,
      } as object as FetchInit)
      const { status, headers: received } = response
      const requestId = redact(received.get('x-request-id') ?? '') || undefined
      const retryAfterMs = readRetryAfter(received.get('retry-after') ?? '')
      return { head: { status, headers: received, requestId, retryAfterMs }, text: await response.text() }
    }

    /** Runs a callback of the app, so that its error is not taken for a network error. */
    async function callback<T>(name: string, run: () => T | Promise<T>): Promise<T> {
      try {
        return await run()
      } catch (cause) {
        const reason = `${name}: the function failed${redact(reasonOf(cause))}`
        throw name === 'token'
          ? new TokenError(reason, call, { cause, kind: name })
          : new UsageError(reason, call, { cause })
      }
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

/** The longest delay of a timer in milliseconds, 24 days. A longer time sets no limit. */
const MAX_TIMER = 2 ** 31 - 1

/** Ends work when its time is up or a signal is aborted. */
interface Deadline {
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
function startDeadline(time: number, signals: readonly Signal[], call: FailedCall): Deadline {
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
  const removals = signals.map((signal) => onAbort(signal, abort))
  abort()
  return { signal: controller.signal, reached, dispose }

  function end(error?: AbortError): void {
    if (error) settle[1](error)
    else settle[0]()
    controller.abort()
  }

  function dispose(): void {
    clearTimeout(timer)
    for (const remove of removals) remove()
  }
}

/** The functions that wait for a signal. */
class Waiting extends Set<() => void> {
  // An arrow function, so that it can be added as a listener, and removed.
  readonly listener = (): void => {
    for (const callback of [...this]) callback()
  }
}

/** Node.js warns of more than ten listeners of a signal, so all calls share one. It is removed with the last call. */
const waiting = new WeakMap<Signal, Waiting>()

/** Calls a function when a signal is aborted. Returns a function that must be called when the work is done. */
function onAbort(signal: Signal, callback: () => void): () => void {
  const callbacks = waiting.get(signal) ?? new Waiting()
  waiting.set(signal, callbacks.add(callback))
  // Adding the same listener again has no effect.
  signal.addEventListener('abort', callbacks.listener)
  return () => {
    callbacks.delete(callback)
    if (callbacks.size > 0) return
    signal.removeEventListener('abort', callbacks.listener)
    waiting.delete(signal)
  }
}
