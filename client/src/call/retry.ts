const RETRIED_STATUSES = [408, 429, 500, 502, 503, 504]
const MIN_BACKOFF = 300
const MAX_BACKOFF = 5_000
const MAX_RETRY_AFTER = 60_000

/** The part of an error that decides about a retry. */
interface Failure {
  readonly kind: string
  readonly status?: number
  readonly retryAfterMs?: number | undefined
}

/**
 * Returns the delay before a retry in milliseconds; undefined if the failure must not be retried.
 *
 * @param retries how many retries there were before
 */
export function retryDelay({ kind, status = 0, retryAfterMs = 0 }: Failure, retries: number): number | undefined {
  const transient = kind === 'connection' || kind === 'timeout' || RETRIED_STATUSES.includes(status)
  if (!transient || retryAfterMs > MAX_RETRY_AFTER) return undefined
  // Full jitter, so that clients that failed together do not retry together.
  return retryAfterMs + Math.random() * Math.min(MAX_BACKOFF, MIN_BACKOFF * 2 ** retries)
}

/** Parses `Retry-After`, seconds or a date, into milliseconds from now. */
export function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
