import { readAnswer } from './answer.ts'
import { AbortError, ConnectionError, PlantStoreError, RequestError, TimeoutError } from './errors.ts'
import type { FetchInit, FetchResponse, Signal } from './fetch.ts'
import { type OperationName, routes } from './generated/operations.ts'
import { type Attempt, observe } from './hooks.ts'
import { createInterrupt, type Interrupt } from './interrupt.ts'
import { checkToken, type Settings } from './options.ts'
import { type Input, writeBody, writePath } from './request.ts'
import type { RawPage } from './results.ts'
import { retryDelay } from './retry.ts'

/** A request that is ready to be sent, again and again. */
interface Prepared {
  readonly operation: OperationName
  readonly method: string
  readonly url: string
  readonly body: string | undefined
  readonly settings: Settings
}

/**
 * Calls an operation: checks and writes the request once, then sends it until it succeeds or trying again is of no use.
 *
 * @throws PlantStoreError
 */
export async function callOperation(
  operation: OperationName,
  input: Input,
  settings: Settings,
): Promise<RawPage<unknown>> {
  const route = routes[operation]
  const url = settings.baseUrl + writePath(route, input)
  const prepared = { operation, method: route.method, url, body: writeBody(route, input), settings }
  let token: string | undefined
  let tokenAskedAgain = false
  for (let number = 1, repetitions = 0; ; number++) {
    const { answer, attempt, usedToken } = await sendOnce(prepared, number, token, tokenAskedAgain)
    if (!(answer instanceof PlantStoreError)) return answer
    token = usedToken
    const { status } = answer as { status?: number }
    if (status === 401 && typeof settings.token === 'function' && !tokenAskedAgain) {
      // A cached token may have expired: its source is asked for another, once.
      tokenAskedAgain = true
      token = undefined
      continue
    }
    const delay = repetitions < settings.retries ? retryDelay(answer, repetitions++) : undefined
    report(prepared, attempt, answer, delay)
    if (delay === undefined) throw answer
    await pause(delay, prepared, number)
  }
}

interface Sent {
  answer: RawPage<unknown> | PlantStoreError
  attempt: Attempt
  /** Undefined where the attempt failed before there was one. */
  usedToken: string | undefined
}

/** Sends the request once; never throws. */
async function sendOnce(
  prepared: Prepared,
  number: number,
  token: string | undefined,
  refused: boolean,
): Promise<Sent> {
  const { operation, method, url, body, settings } = prepared
  const headers = {
    accept: 'application/json',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...settings.headers,
  }
  const attempt: Attempt = { operation, method, url, number, headers }
  const call = { method, url, attempts: number }
  const interrupt = createInterrupt(settings.timeout, settings.signals)
  const begin = Date.now()
  let usedToken = token
  try {
    // What the caller's functions do not end by themselves is left behind when the time is over.
    const within = <T>(work: T | Promise<T>) => Promise.race([work, interrupt.rejection])
    if (interrupt.cause) await interrupt.rejection
    usedToken ??= await within(getToken(settings, refused))
    await within(beforeSending(settings, attempt))
    const init = {
      method,
      headers: { ...headers, authorization: `Bearer ${usedToken}` },
      body,
      redirect: 'manual',
      signal: interrupt.signal,
    }
    const response = await within(fetchWith(settings)(url, init as unknown as FetchInit))
    const text = await within(response.text())
    observeAnswer(settings, attempt, response, Date.now() - begin)
    return { answer: readAnswer(routes[operation], response, text, call), attempt, usedToken }
  } catch (error) {
    return { answer: toError(error, interrupt, settings.timeout, call), attempt, usedToken }
  } finally {
    interrupt.dispose()
  }
}

function fetchWith({ fetch }: Settings): (url: string, init: FetchInit) => Promise<FetchResponse> {
  return fetch ?? ((url, init) => globalThis.fetch(url, init as RequestInit))
}

async function getToken({ token }: Settings, refused: boolean): Promise<string> {
  if (typeof token === 'string') return token
  let given: unknown
  try {
    given = await token({ refused })
  } catch (cause) {
    if (cause instanceof RequestError) throw cause
    throw new RequestError('token: the function that gets it failed; see the cause', undefined, { cause })
  }
  checkToken(given)
  return given
}

async function beforeSending({ hooks }: Settings, attempt: Attempt): Promise<void> {
  try {
    await hooks.request?.(attempt)
  } catch (cause) {
    throw new RequestError('hooks.request failed; see the cause', undefined, { cause })
  }
}

function observeAnswer(
  { hooks, logger }: Settings,
  attempt: Attempt,
  { status, headers }: FetchResponse,
  duration: number,
): void {
  const { method, url, number } = attempt
  const requestId = headers.get('x-request-id') ?? undefined
  observe(() => hooks.response?.(attempt, { status, headers, requestId, duration }))
  observe(() =>
    logger?.debug(`${method} ${url}: ${status} in ${duration} ms (attempt ${number}, request ${requestId})`),
  )
}

function report(
  { settings: { hooks, logger } }: Prepared,
  attempt: Attempt,
  error: PlantStoreError,
  delay: number | undefined,
): void {
  observe(() => hooks.error?.(attempt, error, delay))
  if (delay !== undefined) observe(() => logger?.warn(`${error.message}; again in ${Math.round(delay)} ms`))
}

/** Waits, unless a signal ends the call. */
async function pause(delay: number, { method, url, settings }: Prepared, attempts: number): Promise<void> {
  const interrupt = createInterrupt(delay, settings.signals)
  await interrupt.rejection.catch(() => {})
  interrupt.dispose()
  if (interrupt.cause !== 'timeout') throw aborted(interrupt.cause, { method, url, attempts })
}

function toError(
  error: unknown,
  { cause }: Interrupt,
  timeout: number,
  call: { method: string; url: string; attempts: number },
): PlantStoreError {
  if (cause === 'timeout') return new TimeoutError(timeout, call)
  if (cause) return aborted(cause, call)
  if (error instanceof RequestError)
    return new RequestError(error.message, { ...call, attempts: call.attempts - 1 }, error)
  return new ConnectionError(explain(error), call, { cause: error })
}

function aborted(signal: Signal | undefined, call: { method: string; url: string; attempts: number }): AbortError {
  return new AbortError(signal?.reason, call)
}

/** Node.js says `fetch failed` and keeps what it knows in the cause. */
function explain(error: unknown): string {
  const { code, message } = (error instanceof Error ? (error.cause ?? error) : {}) as {
    code?: unknown
    message?: unknown
  }
  return `no answer (${code ?? message ?? String(error)})`
}
