import { AbortError, ConnectionError, PlantStoreError, RequestError, TimeoutError } from '../errors.ts'
import type { FetchInit } from '../fetch.ts'
import { type Attempt, observe } from '../hooks.ts'
import { checkToken, type Settings } from '../options.ts'
import { readHeaders } from '../wire/headers.ts'
import { type Answer, readAnswer } from '../wire/response.ts'
import type { Route } from '../wire/route.ts'
import { startClock } from './deadline.ts'
import { readRetryAfter } from './retry.ts'

/** What all attempts of a call have in common. */
export interface Call {
  readonly operation: Attempt['operation']
  readonly route: Route
  readonly url: string
  readonly body: string | undefined
  readonly settings: Settings
  /** The token in use; undefined before it is asked for. */
  token?: string | undefined
  /** A token was answered 401. */
  tokenRefused: boolean
}

/** The answer of a successful attempt. */
export interface Success extends Answer {
  readonly data: unknown
}

/**
 * Sends one request and reads its answer, in the time that the settings give it.
 *
 * @throws PlantStoreError of any kind
 */
export async function makeAttempt(call: Call, attempt: Attempt): Promise<Success> {
  const { timeout, signals, hooks, logger } = call.settings
  // Counts this attempt from the moment it is sent.
  const failedCall = { method: attempt.method, url: attempt.url, attempts: attempt.number - 1 }
  const hide = (text: string): string => (call.token ? text.replaceAll(call.token, '[token]') : text)
  const start = performance.now()
  const clock = startClock(timeout, signals)
  try {
    const outcome = await Promise.race([clock.ended, exchange()])
    if (outcome === 'time') throw new TimeoutError(timeout, failedCall)
    if ('reason' in outcome) throw new AbortError(outcome.reason, failedCall)
    if (hooks.response || logger) report(outcome)
    return { ...outcome, data: readAnswer(outcome, call.route, failedCall, hide) }
  } catch (error) {
    if (error instanceof PlantStoreError) throw error
    throw new ConnectionError(hide(`no answer: ${explain(error)}`), failedCall, { cause: error })
  } finally {
    clock.dispose()
  }

  async function exchange(): Promise<Answer> {
    clock.signal.throwIfAborted()
    const headers = await writeHeaders(call, attempt, clock.signal)
    const { fetch = globalThis.fetch } = call.settings
    clock.signal.throwIfAborted()
    failedCall.attempts = attempt.number
    // 'manual': a redirect would take the token along, and turn a POST into a GET.
    const init: object = { method: attempt.method, headers, body: call.body, redirect: 'manual', signal: clock.signal }
    const response = await fetch(attempt.url, init as FetchInit)
    return {
      status: response.status,
      headers: response.headers,
      requestId: response.headers.get('x-request-id') ?? undefined,
      retryAfterMs: readRetryAfter(response.headers.get('retry-after')),
      text: await response.text(),
    }
  }

  function report({ status, headers, requestId }: Answer): void {
    const duration = performance.now() - start
    observe(() => hooks.response?.(attempt, { status, headers, requestId, duration }))
    const request = requestId ? `, request ${requestId}` : ''
    observe(() => logger?.debug(`${attempt.method} ${attempt.url}: ${status} in ${duration.toFixed(1)} ms${request}`))
  }
}

async function writeHeaders(call: Call, attempt: Attempt, signal: AbortSignal): Promise<Record<string, string>> {
  const { token: source, hooks } = call.settings
  if (call.token === undefined) {
    const token = typeof source === 'string' ? source : await ask('token', () => source({ refused: call.tokenRefused }))
    // A later attempt may be under way by now.
    signal.throwIfAborted()
    checkToken(token)
    call.token = token
  }
  if (hooks.request) await ask('hooks.request', () => hooks.request?.(attempt))
  const headers = hooks.request ? readHeaders(attempt.headers) : attempt.headers
  return { ...headers, authorization: `Bearer ${call.token}` }
}

/** Calls a function of the caller, whose failure is no failure of the network. */
async function ask<T>(name: string, question: () => T | Promise<T>): Promise<T> {
  try {
    return await question()
  } catch (cause) {
    if (cause instanceof RequestError && cause.url === undefined) throw cause
    throw new RequestError(`${name}: the function failed`, undefined, { cause })
  }
}

/** The network's own words: `fetch failed` says nothing, its cause does. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return cause.message || String((cause as { code?: unknown }).code ?? error.message)
}
