import type { PlantStoreError, ResponseHead } from './errors.ts'
import { orUndefined } from './wire/values.ts'

/** The kinds and statuses of temporary failures. */
const TEMPORARY: readonly unknown[] = ['connection', 'timeout', 'token', 408, 429, 500, 502, 503, 504]

/** What no retry changes: a certificate that is not trusted, a port that `fetch` refuses. */
const PERMANENT = /certificate|CERT|bad port/

/**
 * Returns the delay before a retry in milliseconds; undefined if the failure must not be retried.
 *
 * @param retries how many retries there were before
 * @param idempotent whether a request that may have been processed can be sent again
 */
export function retryDelay(error: PlantStoreError, retries: number, idempotent = true): number | undefined {
  const { kind, detail } = error
  const { status, retryAfterMs = 0 } = error as Partial<ResponseHead>
  if (!TEMPORARY.includes(kind) && !TEMPORARY.includes(status)) return undefined
  if (retryAfterMs > 60_000 || (kind === 'connection' && PERMANENT.test(detail))) return undefined
  // 408: the request did not arrive in time. 429: it was one too many. A 503 may follow a lost commit.
  const isRejected = kind === 'token' || (kind === 'api' && (status === 408 || status === 429))
  if (!idempotent && !isRejected) return undefined
  // Full jitter, so that clients that failed together do not retry together.
  return retryAfterMs + Math.random() * Math.min(5_000, 300 * 2 ** retries)
}

/** Returns why a function failed, to be appended to a message. The message of a network error is only `fetch failed`. */
export function reasonOf(error: unknown): string {
  const fields = Object(error)
  return orUndefined(() => `: ${fields.cause?.message || fields.cause?.code || (fields.message ?? error)}`) ?? ''
}
