import {
  AbortError,
  ConnectionError,
  type FailedCall,
  PlantStoreError,
  RequestError,
  type ResponseHead,
  TimeoutError,
} from '../errors.ts'
import type { FetchInit } from '../fetch.ts'
import { type Attempt, observe } from '../hooks.ts'
import { checkToken } from '../options.ts'
import { readHeaders } from '../wire/headers.ts'
import { readData } from '../wire/response.ts'
import type { Call } from './call.ts'
import { startDeadline } from './deadline.ts'
import { readRetryAfter } from './retry.ts'

/** What changes from one attempt of a call to the next. */
export interface CallState {
  retries: number
  /** Undefined until an attempt gets it. */
  token: string | undefined
  /** The service responded 401 to an earlier token. */
  tokenRejected: boolean
}

/** The response of a successful attempt. */
export interface CallResponse extends ResponseHead, FailedCall {
  readonly data: unknown
}

/**
 * Sends one request and reads the response, within the timeout.
 *
 * @throws PlantStoreError of any kind
 */
export async function makeAttempt(call: Call, attempt: Attempt, state: CallState): Promise<CallResponse> {
  const { timeout, signals, hooks, logger } = call.settings
  const { method, url, number } = attempt
  // This attempt counts from the moment it is sent.
  const sent = { method, url, attempts: number - 1 }
  const redact = (text: string): string => (state.token ? text.replaceAll(state.token, '[token]') : text)
  const start = performance.now()
  const deadline = startDeadline(timeout, signals)
  try {
    const outcome = await Promise.race([deadline.reached, exchange()])
    if (outcome === 'timeout') throw new TimeoutError(timeout, sent)
    if ('reason' in outcome) throw new AbortError(outcome.reason, sent)
    const { head } = outcome
    if (hooks.response || logger) report(head)
    return { ...head, ...sent, data: readData(outcome, call.route, { call: sent, redact }) }
  } catch (error) {
    if (error instanceof PlantStoreError) throw error
    throw new ConnectionError(redact(`connection failed: ${explain(error)}`), sent, { cause: error })
  } finally {
    deadline.dispose()
  }

  async function exchange(): Promise<{ head: ResponseHead; text: string }> {
    deadline.signal.throwIfAborted()
    const headers = await writeHeaders()
    const { fetch = globalThis.fetch } = call.settings
    deadline.signal.throwIfAborted()
    sent.attempts = number
    // 'manual': following a redirect would pass on the token, and turn a POST into a GET.
    const init: object = {
      method: attempt.method,
      headers,
      body: call.body,
      redirect: 'manual',
      signal: deadline.signal,
    }
    const response = await fetch(attempt.url, init as FetchInit)
    const head = {
      status: response.status,
      headers: response.headers,
      requestId: response.headers.get('x-request-id') ?? undefined,
      retryAfterMs: readRetryAfter(response.headers.get('retry-after')),
    }
    return { head, text: await response.text() }
  }

  async function writeHeaders(): Promise<Record<string, string>> {
    const { token: source } = call.settings
    if (state.token === undefined) {
      const token =
        typeof source === 'string' ? source : await callback('token', () => source({ rejected: state.tokenRejected }))
      // A later attempt may be in flight by now.
      deadline.signal.throwIfAborted()
      checkToken(token)
      state.token = token
    }
    if (hooks.request) await callback('hooks.request', () => hooks.request?.(attempt))
    const headers = hooks.request ? readHeaders(attempt.headers) : attempt.headers
    return { ...headers, authorization: `Bearer ${state.token}` }
  }

  function report({ status, headers, requestId }: ResponseHead): void {
    const duration = performance.now() - start
    observe(() => hooks.response?.(attempt, { status, headers, requestId, duration }))
    const request = requestId ? `, request ${requestId}` : ''
    observe(() => logger?.debug(`${method} ${url}: ${status} in ${duration.toFixed(1)} ms${request}`))
  }
}

/** Runs a callback of the app, so that its error is not taken for a network error. */
async function callback<T>(name: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (cause) {
    if (cause instanceof RequestError && cause.url === undefined) throw cause
    throw new RequestError(`${name}: the function failed`, undefined, { cause })
  }
}

/** Describes a network error by its cause, because its own message is only `fetch failed`. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return cause.message || String((cause as { code?: unknown }).code ?? error.message)
}
