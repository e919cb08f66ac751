import { type FailedCall, PlantStoreError, RequestError, type ResponseHead, TimeoutError } from '../errors.ts'
import type { FetchInit } from '../fetch.ts'
import { type Attempt, observe } from '../hooks.ts'
import { checkToken } from '../options.ts'
import { defaultHeaders, readHeaders } from '../wire/headers.ts'
import { readData } from '../wire/response.ts'
import { reject } from '../wire/write-scalar.ts'
import { type Call, withCall } from './call.ts'
import { startDeadline } from './deadline.ts'
import { redactToken, toFetchError } from './fetch-error.ts'
import { readRetryAfter, retryDelay } from './retry.ts'

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
