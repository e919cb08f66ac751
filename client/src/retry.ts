/** Which failures are retried, when, and how often. */

/** What decides whether a failure is retried: fields of an error, of its response and of its call. */
interface Failure {
  readonly kind: string
  readonly detail: string
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
  readonly idempotent?: boolean | undefined
  readonly renewable?: boolean | undefined
}

/** The options about retries, with defaults applied but that of the delay. */
export interface RetrySettings {
  readonly retries: number
  readonly retryDelay?: number | undefined
  /** How many points retries have cost. All clients that derive from one have the same object. */
  readonly budget: { spent: number }
}

/** The options about retries, how many the call has had, and what the last of them cost. */
export interface Retries {
  readonly settings: RetrySettings
  retries: number
  lastCost?: number
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

/**
 * How many points a client may spend on retries. In an outage, a client has then no more than 35 retries, and one with
 * five calls a second adds an eighth to the load of a minute.
 */
const MAX_SPENT = 500

/**
 * What a retry costs, and the maximum of its delay if it is the first, in milliseconds. A failure costs so much that
 * retries end in an outage, but not at one failure in ten, and a lost connection is one of few: another is soon open.
 */
const FAILED = [14, 50] as const

/**
 * The same where the service sheds load. It says how long to wait, and its rejection costs it little; what it shed in one
 * second should not return in one.
 */
const SHED = [5, 1_000] as const

/** The maximum delay of any retry, in milliseconds: after an outage, all clients are back within it. */
const MAX_DELAY = 5_000

/** Decides whether a failure may be temporary, and its request can be sent again. */
export function isRetryable(failure: Failure): boolean {
  const { kind, detail, status, retryAfterMs = 0, idempotent = true, renewable = false } = failure
  if (kind === 'api' && status === 401) return renewable
  if (!TEMPORARY.test(`${status ?? kind}`) || retryAfterMs > MAX_RETRY_AFTER) return false
  // 408: the request did not arrive in time. 429: it was one too many. A 503 may follow a lost commit.
  if (!idempotent && kind !== 'token' && !(kind === 'api' && (status === 408 || status === 429))) return false
  return kind !== 'connection' || !PERMANENT.test(detail)
}

/** Takes the next retry of a call. Returns the delay before it in milliseconds; undefined if there is none left. */
export function takeRetry({ status, retryAfterMs }: Failure, call: Retries): number | undefined {
  const isShed = status === 429 || (status === 503 && retryAfterMs !== undefined)
  const [cost, first] = isShed ? SHED : FAILED
  const { retries, budget, retryDelay = first } = call.settings
  if (call.retries >= retries || budget.spent + cost > MAX_SPENT) return undefined
  budget.spent += cost
  call.lastCost = cost
  // Full jitter, so that clients that failed together do not retry together.
  const delay = Math.random() * Math.min(Math.max(MAX_DELAY, retryDelay), retryDelay * 2 ** call.retries++)
  return delay + (retryAfterMs ?? 0)
}

/** Gives back what the last retry of a call that succeeded has cost: the service works. Any other success brings back 1. */
export function recordSuccess({ settings: { budget }, lastCost = 1 }: Retries): void {
  budget.spent = Math.max(0, budget.spent - lastCost)
}
