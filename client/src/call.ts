import {
  AbortError,
  type FailedCall,
  type Failure,
  PlantStoreError,
  type ResponseHead,
  redact,
  type SentCall,
  TimeoutError,
  TokenError,
  UsageError,
} from './errors.ts'
import type { FetchInit, HeaderFields, Signal } from './fetch.ts'
import { type OperationName, routes } from './generated/routes.ts'
import { type Attempt, type Hooks, observe } from './hooks.ts'
import { type CallOptions, checkToken, readCallOptions, type Settings } from './options.ts'
import { reasonOf, retryDelay, toFetchError } from './retry.ts'
import { readData, readHead } from './wire/read.ts'
import { defaultHeaders, readHeaders, withoutNull, writePath } from './wire/request.ts'
import { reject } from './wire/write.ts'

/** A call of an operation, ready to send. */
export type Call = ReturnType<typeof prepareCall>

/** The parameters of operations, in their order, each only if the operation has it. Options follow. */
const PARAMETERS = ['pathParameters', 'body', 'query', 'headers'] as const

/**
 * Prepares a call of an operation.
 *
 * @param parameters what the operation was called with
 * @throws UsageError if one of them is invalid
 */
export function prepareCall(operation: OperationName, parameters: readonly unknown[], client: Settings) {
  const route = routes[operation]
  try {
    const rest = [...parameters]
    const [path, content, query, fields = {}] = PARAMETERS.map((name) => route[name] && rest.shift())
    if (rest.length > 1) reject('options', 'must be the last argument')
    const settings = rest[0] == null ? client : readCallOptions(rest[0] as CallOptions, client)
    const url = client.baseUrl + writePath(route, path, query)
    const body = route.body?.(content, '')
    const ownFields = Object.fromEntries(route.headers?.(fields, 'headers', true) ?? []) as HeaderFields
    const headers = withoutNull({ ...defaultHeaders(body), ...settings.headers, ...ownFields })
    return { operation, route, settings, url, body, headers }
  } catch (error) {
    throw withCall(error, { ...route, url: client.baseUrl + route.path, attempts: 0 })
  }
}

/** Adds the call to an error that does not have one yet. */
function withCall(error: unknown, call: FailedCall): PlantStoreError {
  if (error instanceof PlantStoreError && error.url) return error
  return new UsageError(String(Object(error).message ?? error), call)
}

/** The response of a successful call. */
export interface CallResponse {
  readonly data: unknown
  readonly head: ResponseHead
  readonly call: SentCall
}

/**
 * Sends a call, with retries. An attempt is: get the token, run the hooks, send, and read the response.
 *
 * @throws PlantStoreError of any kind
 */
export async function sendCall({ operation, route, url, body, headers, settings }: Call): Promise<CallResponse> {
  const { timeout, retries, token: source, signal: signals } = settings
  const { fetch = globalThis.fetch ?? reject('fetch', 'is missing; set it') } = settings
  const hooks = settings.hooks.concat(settings.log)
  const { method, canRetry } = route
  const { authorization: own, ...otherHeaders } = headers
  // An attempt without a token, or with a hook that failed, sends nothing and is not counted.
  const call: SentCall = { method, url, attempts: 0, authorization: own }
  // Whether the next attempt gets a token, and whether that is the one after a 401: such an attempt is no retry.
  let needsToken = source !== false
  let rejected = false
  for (let number = 1; ; number++) {
    const attempt = { operation, method, url, number, headers: { ...otherHeaders } }
    try {
      return await send(attempt)
    } catch (thrown) {
      const error: Failure = thrown instanceof PlantStoreError ? withCall(thrown, call) : toFetchError(thrown, call)
      const retried = number - (rejected ? 2 : 1)
      const isStale = error.status === 401 && typeof source === 'function' && !rejected
      const delay = isStale ? 0 : retryDelay(error, retried, canRetry)
      Object.assign(error, { retryable: delay !== undefined })
      const next = isStale || retried < retries ? delay : undefined
      notify((hook) => hook.error?.(attempt, error, next))
      if (next === undefined) throw error
      if (isStale) {
        needsToken = true
        rejected = true
      }
      await within(next, signals, call)
    }
  }

  /** Makes an attempt within the timeout. */
  async function send(attempt: Attempt): Promise<CallResponse> {
    const start = performance.now()
    const received = await within(timeout, signals, call, (signal) => exchange(attempt, signal))
    if (!received) throw new TimeoutError(`timed out after ${timeout} ms`, call)
    const [head, text] = received
    const duration = performance.now() - start
    notify((hook) => hook.response?.(attempt, { ...head, duration }))
    return { head, call, data: readData(route, text, head, call) }
  }

  async function exchange(attempt: Attempt, signal: Signal): Promise<[ResponseHead, text: string]> {
    if (needsToken) {
      const isFunction = typeof source === 'function'
      const token = isFunction ? await callback('token', signal, () => source({ rejected })) : source
      call.authorization = `Bearer ${checkToken(token, isFunction)}`
      needsToken = false
    }
    for (const hook of hooks) await callback('hooks.request', signal, () => hook.request?.(attempt))
    const { authorization: added, ...rest } = hooks.length ? withoutNull(readHeaders(attempt.headers)) : attempt.headers
    if (added && (own || source !== false)) reject('token', 'must be false if headers have Authorization')
    if (source === false) call.authorization = own ?? added
    call.attempts++
    const response = await fetch(url, {
      method,
      headers: { ...rest, ...(call.authorization && { authorization: call.authorization }) },
      body,
      // Following a redirect would pass on the token, and turn a POST into a GET.
      redirect: 'manual',
      signal,
    } as object as FetchInit)
    return [readHead(response.status, response.headers, call), await response.text()]
  }

  /** Runs a callback of the app, so that its error is not taken for a network error. */
  async function callback<T>(name: string, signal: Signal, run: () => T | Promise<T>): Promise<T> {
    try {
      const result = await run()
      // A later attempt may be in flight by now. Nothing reads this error.
      signal.throwIfAborted()
      return result
    } catch (cause) {
      const reason = `${name}: the function failed${redact(reasonOf(cause), call)}`
      throw new (name === 'token' ? TokenError : UsageError)(reason, call, { cause })
    }
  }

  function notify(run: (hook: Hooks) => unknown): void {
    for (const hook of hooks) observe(() => run(hook))
  }
}

/**
 * Waits for work, which gets a signal that is aborted when it must end. Resolves to undefined when the time is up first.
 *
 * @param time in milliseconds; `Infinity` for no limit
 * @param call the call that an `AbortError` belongs to
 * @throws AbortError when one of the signals is aborted
 */
function within<T>(
  time: number,
  signals: readonly Signal[],
  call: FailedCall,
  work?: (signal: Signal) => Promise<T>,
): Promise<T | undefined> {
  const controller = new AbortController()
  const cleanUp: (() => void)[] = []
  return new Promise<T | undefined>((resolve, rejectWith) => {
    // Settles first: the work fails with an error of its own when it is aborted.
    const end = (error?: AbortError): void => {
      if (error) rejectWith(error)
      else resolve(undefined)
      controller.abort()
    }
    // The longest delay of a timer is 24 days. A longer time sets no limit.
    if (time < 2 ** 31) {
      const timer = setTimeout(end, time)
      cleanUp.push(() => clearTimeout(timer))
    }
    for (const signal of signals) {
      const abort = (): void =>
        end(new AbortError('aborted by the signal', call, { kind: 'aborted', cause: signal.reason }))
      if (signal.aborted) abort()
      else cleanUp.push(onAbort(signal, abort))
    }
    if (!controller.signal.aborted) work?.(controller.signal).then(resolve, rejectWith)
  }).finally(() => {
    for (const run of cleanUp) run()
  })
}

/** The functions that wait for a signal. All calls share one listener, because Node.js warns of more than ten. */
const waiting = new WeakMap<object, Set<() => void>>()

function runWaiting(event?: { readonly target: object | null }): void {
  for (const callback of waiting.get(event?.target as object) ?? []) callback()
}

/** Calls a function when a signal is aborted. Returns a function that must be called when the work is done. */
function onAbort(signal: Signal, callback: () => void): () => void {
  const callbacks = waiting.get(signal) ?? new Set()
  waiting.set(signal, callbacks.add(callback))
  // Adding the same listener again has no effect.
  signal.addEventListener('abort', runWaiting)
  return () => {
    callbacks.delete(callback)
    if (callbacks.size === 0) signal.removeEventListener('abort', runWaiting)
  }
}
