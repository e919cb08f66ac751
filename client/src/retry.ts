import { ConnectionError, type FailedCall, type Failure, type PlantStoreError, UsageError } from './errors.ts'

const RETRIED_STATUSES = [408, 429, 500, 502, 503, 504]
const MIN_BACKOFF = 300
const MAX_BACKOFF = 5_000
const MAX_RETRY_AFTER = 60_000

/**
 * Returns the delay before a retry in milliseconds; undefined if the failure must not be retried.
 *
 * @param retries how many retries there were before
 * @param canRetry whether the operation can be retried after a failure. Default: if the failure may pass.
 */
export function retryDelay(failure: Failure, retries: number, canRetry = mayPass): number | undefined {
  const { retryAfterMs = 0, cause } = failure
  if (!canRetry(failure) || retryAfterMs > MAX_RETRY_AFTER) return undefined
  if (failure.kind === 'connection' && NOT_TRUSTED.test(textOf(cause))) return undefined
  // Full jitter, so that clients that failed together do not retry together.
  return retryAfterMs + Math.random() * Math.min(MAX_BACKOFF, MIN_BACKOFF * 2 ** retries)
}

function mayPass({ kind, status = 0 }: Failure): boolean {
  return ['connection', 'timeout', 'token'].includes(kind) || RETRIED_STATUSES.includes(status)
}

/** Parses `Retry-After`, seconds or a date, into milliseconds from now. */
export function readRetryAfter(value: string): number | undefined {
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}

/** The codes and texts of a certificate that is not trusted, in Node.js, Bun, Deno and Safari. It is not a second later either. */
const NOT_TRUSTED = /certificate|CERT_|_CERT|UNABLE_TO_VERIFY/

/** The codes and texts of failures to connect, in Node.js, Bun and Deno: nothing was sent. Browsers hide the reason. */
const NOT_CONNECTED = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|CONNECT_TIMEOUT|ConnectionRefused|client error \(Connect\)/

/**
 * Returns whether a request certainly was not processed, so that an operation that is not idempotent can be retried. A bundle
 * has it only if the contract has such an operation.
 */
export function wasNotProcessed({ kind, status, cause }: Failure): boolean {
  // 408: the request did not arrive in time. 429: it was one too many. A 503 may follow a lost commit.
  if (kind === 'api' || kind === 'undeclared') return status === 408 || status === 429
  return kind === 'token' || (kind === 'connection' && NOT_CONNECTED.test(textOf(cause)))
}

/**
 * What a bug looks like, as `name: message`. Only the texts of the JavaScript engines, of invalid arguments and of bodies
 * that were read before count: a network failure is a `TypeError` too, with any text, in any language.
 */
const BUG =
  /^(Reference|Range|Syntax|Eval|Assertion)Error|^TypeError( \[|: (Cannot |can't |Headers|Invalid [Uh]|Failed to [cep]|Request(I| w)|.*(JSON|BigInt|empty array|'new'| is (not (a (fu|con|valid [HU])|an (ob|ins)|iter|async)|undefined|null)|Body [aih])))/

/** Returns the error of a `fetch` that failed: of the network, or a `UsageError` if the function has a bug. */
export function toFetchError(cause: unknown, call: FailedCall, redact: (text: string) => string): PlantStoreError {
  const reason = redact(reasonOf(cause))
  return BUG.test(textOf(cause))
    ? new UsageError(`fetch: the function failed${reason}`, call, { cause })
    : new ConnectionError(`connection failed${reason}`, call, { cause, kind: 'connection' })
}

/** Returns why a function failed, to be appended to a message. The message of a network error is only `fetch failed`. */
export function reasonOf(error: unknown): string {
  return readError(error, ({ message = String(error), cause }) => `: ${cause?.message || cause?.code || message}`)
}

/** Returns the text of an error, and in a second line its codes and cause. */
function textOf(error: unknown): string {
  return readError(error, ({ code, cause }) => `${error}\n${code} ${cause?.code} ${cause?.message}`)
}

/** What an error may have. */
interface ErrorLike {
  readonly code?: unknown
  readonly message?: unknown
  readonly cause?: ErrorLike | null
}

/** Reads an error. Anything can be thrown, also what cannot be read. */
function readError(error: unknown, read: (fields: ErrorLike) => string): string {
  try {
    return read(Object(error))
  } catch {
    return ''
  }
}

/**
 * Replaces the token of an `Authorization` header in a text from outside, also one with escapes of a URL. A token of less
 * than 8 characters may be a part of any word.
 */
export function redactToken(text: string, authorization = ''): string {
  const token = authorization.replace(/.* /, '')
  if (token.length < 8 || text.length < token.length) return text
  // Unlike `decodeURIComponent`, it accepts any text.
  const plain = unescape(text)
  return (plain.includes(token) ? plain : text).replaceAll(token, '[token]')
}
