import { AbortError, ConnectionError, PlantStoreError, TimeoutError, TokenError, UsageError } from './errors.ts'
import type { FetchInit, HeaderFields, Signal } from './fetch.ts'
import { type OperationName, routes } from './generated/routes.ts'
import { type Attempt, type Hooks, logHooks, observe } from './hooks.ts'
import { type CallOptions, CONFLICT, isToken, NO_TOKEN, readCallOptions, type Settings } from './options.ts'
import { reasonOf, retryDelay } from './retry.ts'
import { defaultHeaders, readHeaders, withoutNull } from './wire/headers.ts'
import { writeRequest } from './wire/request.ts'
import { readData, readHead } from './wire/response.ts'
import { reject } from './wire/values.ts'

/** A call of an operation, ready to send. */
export type Call = ReturnType<typeof prepareCall>

/**
 * Prepares a call of an operation.
 *
 * @param parameters what the operation was called with: the input, and options
 * @throws UsageError if one of them is invalid
 */
export function prepareCall(operation: OperationName, parameters: readonly unknown[], client: Settings) {
  const route = routes[operation]
  try {
    const [input, options, ...others] = parameters
    if (others.length > 0) reject('arguments', 'must be input and options only')
    const settings = options == null ? client : readCallOptions(options as CallOptions, client, 'options.')
    const { target, body } = writeRequest(route, input ?? undefined)
    const headers: HeaderFields = { ...defaultHeaders(body), ...settings.headers }
    return { operation, route, settings, url: client.baseUrl + target, body, headers: withoutNull(headers) }
  } catch (error) {
    throw toError(error, { ...route, url: client.baseUrl + route.path, attempts: 0 })
  }
}

/** The response of a successful call. */
export type CallResponse = Awaited<ReturnType<typeof sendCall>>

/** How far a call is. */
interface Progress {
  readonly method: string
  readonly url: string
  /** The requests that were sent: an attempt without a token, or with a hook that failed, sends none. */
  attempts: number
  retries: number
  /** The token of the next attempt; undefined if it has to be requested. */
  token: string | false | undefined
  /** Whether the token was requested once more, after a 401. Such an attempt is not a retry. */
  renewed: boolean
}

/**
 * Sends a call, with retries.
 *
 * @throws PlantStoreError of any kind
 */
export async function sendCall(call: Call) {
  const { operation, url, settings, route } = call
  const { method } = route
  const { authorization: _, ...headers } = call.headers
  const token = typeof settings.token === 'function' ? undefined : settings.token
  const progress: Progress = { method, url, attempts: 0, retries: 0, token, renewed: false }
  const signals = settings.signal
  for (;;) {
    const number = 1 + progress.retries + Number(progress.renewed)
    const attempt: Attempt = { operation, method, url, number, headers: { ...headers } }
    const begun: Hooks[] = []
    try {
      const start = performance.now()
      const received = await within(settings.timeout, signals, progress, (signal) =>
        sendAttempt(attempt, begun, call, progress, signal),
      )
      if (!received) throw new TimeoutError(`timed out after ${settings.timeout} ms`, progress)
      const [head, text] = received
      const duration = performance.now() - start
      for (const hook of begun) observe(() => hook.response?.(attempt, { ...head, duration }))
      return { head, call: progress, data: readData(route, text, head, progress) }
    } catch (thrown) {
      const error = toError(thrown, progress)
      const delay = findAborted(signals) ? undefined : nextDelay(error, call, progress)
      for (const hook of begun) observe(() => hook.error?.(attempt, error, delay))
      if (delay === undefined) throw error
      await within(delay, signals, progress)
    }
  }
}

/** Runs the hooks, gets the token, sends, and reads the response. Lists the hooks that have begun. */
async function sendAttempt(attempt: Attempt, begun: Hooks[], call: Call, progress: Progress, signal: Signal) {
  const { settings, body } = call
  for (const hook of settings.hooks.concat(logHooks(settings.logger, settings.logLevel))) {
    begun.push(hook)
    try {
      await hook.request?.(attempt)
    } catch (cause) {
      throw new UsageError([{ path: 'hooks.request', message: `failed${reasonOf(cause)}` }], undefined, cause)
    }
    requireOpen(signal)
  }
  if (typeof settings.token === 'function') progress.token ??= await requestToken(settings.token, progress, signal)
  // Only hooks change them.
  const changed = begun.length > 0 ? withoutNull(readHeaders(attempt.headers, 'headers')) : attempt.headers
  const { authorization: added, ...headers } = changed
  const own = call.headers['authorization']
  if (added && (own || progress.token !== false)) reject('token', CONFLICT)
  const authorization = progress.token === false ? (own ?? added) : `Bearer ${progress.token}`
  if (authorization) headers['authorization'] = authorization
  progress.attempts++
  // Following a redirect would pass on the token, and turn a POST into a GET.
  const init = { method: attempt.method, headers, body, redirect: 'manual', signal }
  const response = await (settings.fetch ?? fetch)(attempt.url, init as object as FetchInit)
  return [readHead(response.status, response.headers), await response.text()] as const
}

/** Requests a token of the app's function. */
async function requestToken(source: Exclude<Settings['token'], string | false>, progress: Progress, signal: Signal) {
  let token: unknown
  try {
    token = await source({ rejected: progress.renewed })
  } catch (cause) {
    throw new TokenError(`token: failed${reasonOf(cause)}`, progress, { cause })
  }
  requireOpen(signal)
  if (!isToken(token)) throw new TokenError(`token: ${NO_TOKEN}`, progress)
  return token
}

/** Throws if an attempt has ended while it waited, since a later one may be in flight. Nothing reads this error. */
function requireOpen({ aborted }: Signal): void {
  if (aborted) throw new Error()
}

/** Adds the call to an error about usage. Any other error is that of `fetch`, or before it of a getter of the app. */
function toError(thrown: unknown, call: Pick<Progress, 'method' | 'url' | 'attempts'>): PlantStoreError {
  if (thrown instanceof UsageError) return new UsageError(thrown.issues, call, thrown.cause)
  if (thrown instanceof PlantStoreError) return thrown
  const reason = reasonOf(thrown)
  if (call.attempts === 0) return new UsageError([{ path: 'input', message: `failed${reason}` }], call, thrown)
  return new ConnectionError(`connection failed${reason}`, call, { cause: thrown }) as PlantStoreError
}

/** Decides about the next attempt. Returns the delay before it; undefined if there is none. */
function nextDelay(error: PlantStoreError, { route, settings }: Call, progress: Progress): number | undefined {
  const isStale = error.kind === 'api' && error.status === 401
  const canRenew = isStale && typeof settings.token === 'function' && !progress.renewed
  const delay = canRenew ? 0 : retryDelay(error, progress.retries, route.idempotent)
  Object.assign(error, { retryable: delay !== undefined })
  if (canRenew) Object.assign(progress, { token: undefined, renewed: true })
  else if (progress.retries++ >= settings.retries) return undefined
  return delay
}

/**
 * Waits for work, which gets a signal that is aborted when it must end. Resolves to undefined when the time is up first.
 *
 * @param time in milliseconds; `Infinity` for no limit
 * @param call the call that the error belongs to
 * @throws AbortError when one of the signals is aborted, or TimeoutError if that is its reason
 */
function within<T>(
  time: number,
  signals: readonly Signal[],
  call: Progress,
  work?: (signal: Signal) => Promise<T>,
): Promise<T | undefined> {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let end = () => {}
  return new Promise<T | undefined>((resolve, rejectWith) => {
    // Settles first: the work fails with an error of its own when it is aborted.
    end = () => {
      const aborted = findAborted(signals)
      if (aborted) rejectWith(toAbortError(aborted.reason, call))
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
    if (findAborted(signals)) end()
    else work?.(controller.signal).then(resolve, rejectWith)
  }).finally(() => {
    clearTimeout(timer)
    for (const signal of signals) {
      const ends = waits.get(signal)
      ends?.delete(end)
      if (!ends?.size) signal.removeEventListener('abort', endWaits)
    }
  })
}

function findAborted(signals: readonly Signal[]): Signal | undefined {
  return signals.find(({ aborted }) => aborted)
}

function toAbortError(cause: unknown, call: Progress): AbortError | TimeoutError {
  if (Object(cause).name === 'TimeoutError') return new TimeoutError('timed out by the signal', call, { cause })
  return new AbortError('aborted by the signal', call, { kind: 'aborted', cause })
}

/** What waits for each signal. One listener calls them all: Node.js 20 warns of more than ten, and `any` leaks memory on 22. */
const waits = new WeakMap<Signal, Set<() => void>>()

function endWaits(this: Signal): void {
  for (const end of waits.get(this) ?? []) end()
}
