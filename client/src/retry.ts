import { ConnectionError, type Failure, redact, type SentCall, UsageError } from './errors.ts'
import { orUndefined } from './wire/write.ts'

/** The kinds and statuses of temporary failures. */
const TEMPORARY: readonly unknown[] = ['connection', 'timeout', 'token', 408, 429, 500, 502, 503, 504]

/**
 * Returns the delay before a retry in milliseconds; undefined if the failure must not be retried.
 *
 * @param retries how many retries there were before
 * @param canRetry whether the operation can be retried after a failure. Default: if the failure is temporary.
 */
export function retryDelay(failure: Failure, retries: number, canRetry = isTemporary): number | undefined {
  const { retryAfterMs = 0, cause } = failure
  if (!canRetry(failure) || retryAfterMs > 60_000) return undefined
  if (failure.kind === 'connection' && NOT_TRUSTED.test(textOf(cause))) return undefined
  // Full jitter, so that clients that failed together do not retry together.
  return retryAfterMs + Math.random() * Math.min(5_000, 300 * 2 ** retries)
}

function isTemporary({ kind, status }: Failure): boolean {
  return TEMPORARY.includes(kind) || TEMPORARY.includes(status)
}

/** The codes and texts of a certificate that is not trusted, in Node.js, Bun, Deno and Safari. A retry would not help. */
const NOT_TRUSTED = /certificate|CERT/

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
  /^(Ref|Rang|Synt|Eval|Assert)\w*Error|^TypeError( \[|: (Cannot |Headers|Request|Invalid [Uh]|Failed to [^f]|.*(JSON|BigInt|empty array|'new'|Body | is (undefined|null|not (a [cfv]|an [io]|async|iter)))))/

/** Returns the error of a `fetch` that failed: of the network, or a `UsageError` if the function has a bug. */
export function toFetchError(cause: unknown, call: SentCall): Failure {
  const reason = redact(reasonOf(cause), call)
  return BUG.test(textOf(cause))
    ? new UsageError(`fetch: the function failed${reason}`, call, { cause })
    : new ConnectionError(`connection failed${reason}`, call, { cause })
}

/** Returns why a function failed, to be appended to a message. The message of a network error is only `fetch failed`. */
export function reasonOf(error: unknown): string {
  const fields: ErrorLike = Object(error)
  return orUndefined(() => `: ${fields.cause?.message || fields.cause?.code || (fields.message ?? error)}`) ?? ''
}

/** Returns the text of an error, and in a second line its codes and cause. */
function textOf(error: unknown): string {
  const fields: ErrorLike = Object(error)
  return orUndefined(() => `${error}\n${fields.code} ${fields.cause?.code} ${fields.cause?.message}`) ?? ''
}

/** What an error may have. */
interface ErrorLike {
  readonly code?: unknown
  readonly message?: unknown
  readonly cause?: ErrorLike | null
}
