/** Which failures are retried, when, and how often. */

/** What decides whether a failure is retried: fields of an error, of its response and of its call. */
interface Failure {
  readonly kind: string
  readonly detail: string
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
}

/** What a call says of that. */
export interface Repetition {
  /** Whether a request that may have been processed can be sent again. Default: true. */
  readonly idempotent?: boolean | undefined
  /** Whether a 401 can be followed by another token. Default: false. */
  readonly renewable?: boolean | undefined
}

/** The options about retries, and how many the call has had. */
export interface Retries {
  readonly settings: { readonly retries: number; readonly retryDelay: number; readonly budget: { spent: number } }
  retries: number
}

/** The kinds and statuses of temporary failures: from 520 on those of a CDN that does not reach the service. */
const TEMPORARY = /^(connection|timeout|token|408|429|50[0234]|52[0-4]|530)$/

/**
 * What no retry changes: a certificate that is not trusted, a port or a signal of another realm that `fetch` refuses, a
 * redirect that it neither follows nor returns, as Electron's and one with `redirect: 'error'`.
 */
const PERMANENT = /certificate|CERT|bad port|AbortSignal|Redirect was cancelled|unexpected redirect/

/** The longest `Retry-After` that a call waits for, in milliseconds: what waits a minute for a plant has given up. */
const MAX_RETRY_AFTER = 60_000

/** The longest random delay, in milliseconds: after an outage, clients are back within it. A longer `retryDelay` counts. */
const MAX_DELAY = 5_000

/** How many points a client may spend on retries, so that an outage does not triple its load. */
const MAX_SPENT = 500

/** Decides whether a failure may be temporary, and its request can be sent again. */
export function isRetryable(
  { kind, detail, status, retryAfterMs = 0 }: Failure,
  { idempotent = true, renewable = false }: Repetition,
): boolean {
  if (kind === 'api' && status === 401) return renewable
  if (!TEMPORARY.test(`${status ?? kind}`) || retryAfterMs > MAX_RETRY_AFTER) return false
  // 408: the request did not arrive in time. 429: it was one too many. A 503 may follow a lost commit.
  if (!idempotent && kind !== 'token' && !(kind === 'api' && (status === 408 || status === 429))) return false
  return kind !== 'connection' || !PERMANENT.test(detail)
}

/** Takes the next retry of a call. Returns the delay before it in milliseconds; undefined if there is none left. */
export function takeRetry({ kind, retryAfterMs = 0 }: Failure, call: Retries): number | undefined {
  const { retries, retryDelay, budget } = call.settings
  const cost = kind === 'timeout' ? 10 : 5
  if (call.retries >= retries || budget.spent + cost > MAX_SPENT) return undefined
  budget.spent += cost
  // Full jitter, so that clients that failed together do not retry together.
  return retryAfterMs + Math.random() * Math.min(Math.max(MAX_DELAY, retryDelay), retryDelay * 2 ** call.retries++)
}
