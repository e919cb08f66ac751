import { type Call, reasonOf, toError } from './call.ts'
import { AbortError, TimeoutError, TokenError, UsageError } from './errors.ts'
import type { Attempt, Hooks, Signal } from './options.ts'
import { isRetryable, recordSuccess, takeRetry } from './retry.ts'
import { CONFLICT, whyNotToken } from './settings.ts'
import { observe, rejectArgument } from './values.ts'
import { readHeaders, withoutNull } from './wire/request.ts'
import { type CallResponse, readData, readHead, readText } from './wire/response.ts'

/**
 * Sends a call, with retries.
 *
 * @throws {PlantStoreError} of any kind
 */
export async function sendCall(call: Call): Promise<CallResponse> {
  const { operation, method, url, settings } = call
  const { authorization: _, ...headers } = call.headers
  for (let number = 1; ; number++) {
    const attempt: Attempt = { operation, method, url, number, headers: { ...headers } }
    const begun: Hooks[] = []
    try {
      const begin = performance.now()
      const received = await within(settings.timeout, call, (signal) => sendAttempt(attempt, begun, call, signal))
      const cause = call.lastFailure
      if (!received)
        throw new TimeoutError('timeout', `timed out after ${settings.timeout} ms`, call, cause && { cause })
      const [head, text, lastUrl] = received
      const duration = performance.now() - begin
      for (const hook of begun) observe(() => hook.response?.(attempt, { ...head, duration }))
      // Without waiting for anything, so that the hooks learn of an error in the response at the same time.
      const data = readData(text, head, call, lastUrl)
      recordSuccess(call)
      return { head, call, data }
    } catch (thrown) {
      const error = toError(thrown, call)
      Object.assign(error, { retryable: isRetryable(error, call) && !findAbort(call) })
      const delay = error.retryable ? takeRetry(error, call) : undefined
      for (const hook of begun) observe(() => hook.error?.(attempt, error, delay))
      if (delay === undefined) throw error
      call.lastFailure = error
      // Fake timers may stand still, and a test has no delay.
      if (delay > 0) await within(delay, call)
    }
  }
}

/** Runs the hooks, gets the token, sends, and reads the response. Lists the hooks that have begun. */
async function sendAttempt(attempt: Attempt, begun: Hooks[], call: Call, signal: Signal) {
  const { settings, body } = call
  for (const hook of settings.hooks) {
    begun.push(hook)
    try {
      await hook.request?.(attempt)
    } catch (cause) {
      throw new UsageError([{ path: 'hooks.request', message: `failed${reasonOf(cause)}` }], undefined, cause)
    }
    // The attempt may have ended meanwhile, and a later one may be in flight. Nothing reads this error.
    if (signal.aborted) throw new Error()
  }
  if (typeof call.token === 'function') call.token = await requestToken(call.token, call, signal)
  // Hooks may have changed them. To check them takes as long as all else that is not `fetch`.
  const headers = settings.hooks.length > 0 ? withoutNull(readHeaders(attempt.headers, 'headers')) : attempt.headers
  const authorization = call.token === false ? call.headers['authorization'] : `Bearer ${call.token}`
  if (authorization !== undefined) {
    if (headers['authorization'] !== undefined) rejectArgument('token', CONFLICT)
    headers['authorization'] = authorization
  }
  call.isConditional = 'if-none-match' in headers
  call.attempts++
  const init = { method: attempt.method, headers, ...(body && { body }), redirect: 'manual', signal } as const
  const response = await (settings.fetch ?? fetch)(attempt.url, init)
  const head = readHead(response, call.url)
  return [head, await readText(response, settings.maxResponseBytes, head, call), response.url] as const
}

/** Requests a token of the app's function. */
async function requestToken(source: Exclude<Call['token'], string | false>, call: Call, signal: Signal) {
  let token: unknown
  try {
    token = await source({ rejected: !call.renewable })
  } catch (cause) {
    throw new TokenError('token', `token: failed${reasonOf(cause)}`, call, { cause })
  }
  if (signal.aborted) throw new Error()
  const reason = whyNotToken(token)
  if (reason) throw new TokenError('token', `token: ${reason}`, call)
  return token as string
}

/**
 * Waits for work, which gets a signal that is aborted when it must end. Resolves to undefined
 * when the time is up first.
 *
 * @param time in milliseconds; `Infinity` for no limit
 * @throws {AbortError} when one of the signals of the call is aborted
 * @throws {TimeoutError} if that is its reason
 */
function within<T>(time: number, call: Call, work?: (signal: Signal) => Promise<T>): Promise<T | undefined> {
  const signals = call.settings.signal
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let end = () => {}
  return new Promise<T | undefined>((resolve, rejectWith) => {
    // Settles first: the work fails with an error of its own when it is aborted.
    end = () => {
      const error = findAbort(call)
      if (error) rejectWith(error)
      else resolve(undefined)
      controller.abort()
    }
    // The longest delay of a timer is 24 days. A longer time sets no limit.
    if (time < 2 ** 31) timer = setTimeout(end, time)
    for (const signal of signals) {
      waits.set(signal, (waits.get(signal) ?? new Set()).add(end))
      // Adding it again has no effect.
      signal.addEventListener('abort', endWaits)
    }
    if (findAbort(call)) end()
    else work?.(controller.signal).then(resolve, rejectWith)
  }).finally(() => {
    clearTimeout(timer)
    for (const signal of signals) {
      const ends = waits.get(signal) as Set<() => void>
      ends.delete(end)
      if (!ends.size) signal.removeEventListener('abort', endWaits)
    }
  })
}

/** Returns the error of a call of which a signal is aborted; undefined if none is. */
function findAbort(call: Call): AbortError | TimeoutError | undefined {
  const { lastFailure, settings } = call
  const signal = settings.signal.find(({ aborted }) => aborted)
  if (!signal) return undefined
  const { reason } = signal
  const text = `by the signal${lastFailure ? `, after: ${lastFailure.detail}` : ''}`
  const fields = { cause: lastFailure ?? reason, reason }
  if (Object(reason).name === 'TimeoutError') return new TimeoutError('timeout', `timed out ${text}`, call, fields)
  return new AbortError('aborted', `aborted ${text}`, call, fields)
}

/**
 * What waits for each signal. One listener calls them all: Node.js 20 warns of more than ten,
 * and `any` leaks memory on 22.
 */
const waits = new WeakMap<Signal, Set<() => void>>()

function endWaits(this: Signal): void {
  for (const end of waits.get(this) ?? []) end()
}
