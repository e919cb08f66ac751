import type { Failure } from '../errors.ts'

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
  const { retryAfterMs = 0 } = failure
  if (!canRetry(failure) || retryAfterMs > MAX_RETRY_AFTER) return undefined
  // Full jitter, so that clients that failed together do not retry together.
  return retryAfterMs + Math.random() * Math.min(MAX_BACKOFF, MIN_BACKOFF * 2 ** retries)
}

function mayPass({ kind, status = 0 }: Failure): boolean {
  return kind === 'connection' || kind === 'timeout' || RETRIED_STATUSES.includes(status)
}

/** Parses `Retry-After`, seconds or a date, into milliseconds from now. */
export function readRetryAfter(value: string): number | undefined {
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
