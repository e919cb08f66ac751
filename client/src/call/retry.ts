const RETRIED_STATUSES = [408, 429, 500, 502, 503, 504]
const FIRST_BACKOFF = 300
const LONGEST_BACKOFF = 5_000
const LONGEST_RETRY_AFTER = 60_000

/** The part of an error by which it is repeated or not. */
interface Failure {
  readonly kind: string
  readonly status?: number
  readonly retryAfterMs?: number | undefined
}

/**
 * How long to wait before the next attempt, in milliseconds; undefined where another one is of no use.
 *
 * @param retries how many repetitions there were before
 */
export function retryDelay({ kind, status = 0, retryAfterMs = 0 }: Failure, retries: number): number | undefined {
  const passing = kind === 'connection' || kind === 'timeout' || RETRIED_STATUSES.includes(status)
  if (!passing || retryAfterMs > LONGEST_RETRY_AFTER) return undefined
  // Full jitter: clients that failed together do not come back together.
  return retryAfterMs + Math.random() * Math.min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** retries)
}

/** Reads `Retry-After`, seconds or a date, into milliseconds from now. */
export function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
