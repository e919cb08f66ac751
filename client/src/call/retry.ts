const RETRIED_STATUSES = [408, 429, 500, 502, 503, 504]
const MIN_BACKOFF = 300
const MAX_BACKOFF = 5_000
const MAX_RETRY_AFTER = 60_000

/** The codes and texts of failures to connect, in Node.js, Bun and Deno: nothing was sent. Browsers hide the reason. */
const NOT_CONNECTED = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|CONNECT_TIMEOUT|ConnectionRefused|client error \(Connect\)/

/** The part of an error that decides about a retry. */
interface Failure {
  readonly kind: string
  readonly status?: number
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/**
 * Returns the delay before a retry in milliseconds; undefined if the failure must not be retried.
 *
 * @param retries how many retries there were before
 * @param idempotent whether the operation may be done twice. Default: `true`.
 */
export function retryDelay(failure: Failure, retries: number, idempotent = true): number | undefined {
  const { retryAfterMs = 0 } = failure
  const transient = idempotent ? mayPass(failure) : wasNotProcessed(failure)
  if (!transient || retryAfterMs > MAX_RETRY_AFTER) return undefined
  // Full jitter, so that clients that failed together do not retry together.
  return retryAfterMs + Math.random() * Math.min(MAX_BACKOFF, MIN_BACKOFF * 2 ** retries)
}

function mayPass({ kind, status = 0 }: Failure): boolean {
  return kind === 'connection' || kind === 'timeout' || RETRIED_STATUSES.includes(status)
}

/** 408: the request did not arrive in time. 429: it was one too many. A 503 may follow a lost commit. */
function wasNotProcessed({ kind, status, cause }: Failure): boolean {
  if (kind === 'api' || kind === 'undeclared') return status === 408 || status === 429
  const { code, message, cause: inner } = Object(cause)
  return kind === 'connection' && NOT_CONNECTED.test([code, message, inner?.code, inner?.message].join())
}

/** Parses `Retry-After`, seconds or a date, into milliseconds from now. */
export function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
