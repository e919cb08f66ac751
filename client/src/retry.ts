/** Which failures are retried, when, and how often. */
import type { Call } from './call.ts'
import type { PlantStoreError, ResponseHead } from './errors.ts'

/** The kinds and statuses of temporary failures: from 520 on those of a CDN that does not reach the service. */
const TEMPORARY = /^(connection|timeout|token|408|429|50[0234]|52[0-4]|530)$/

/**
 * What no retry changes: a certificate that is not trusted, a port or a signal of another realm that `fetch` refuses, a
 * redirect that it neither follows nor returns, as Electron's and one with `redirect: 'error'`.
 */
const PERMANENT = /certificate|CERT|bad port|AbortSignal|Redirect was|ed redirect/

/** 408: the request did not arrive in time. 429: it was one too many. A 503 may follow a lost commit. */
const NOT_PROCESSED = /^(token|api(408|429)$)/

/** The longest `Retry-After` that a call waits for, in milliseconds: what waits a minute for a plant has given up. */
const MAX_RETRY_AFTER = 60_000

/**
 * How many points a client may spend on retries. In an outage, a client has then no more than 35 retries, and one with
 * five calls a second adds an eighth to the load of a minute.
 */
const MAX_SPENT = 500

/**
 * What a retry costs. A failure costs so much that retries end in an outage, but not at one failure in ten. Where the
 * service sheds load, its rejection costs it little.
 */
const COST = 14
const SHED_COST = 5

/**
 * The maximum delay of a first retry, in milliseconds: a lost connection is soon replaced, but what was shed in one second
 * should not return in one.
 */
const DELAY = 50
const SHED_DELAY = 1_000

/** The maximum delay of any retry, in milliseconds: after an outage, all clients are back within it. */
const MAX_DELAY = 5_000

/** Decides whether a failure may be temporary, and its request can be sent again. */
export function isRetryable(error: PlantStoreError, { route, renewable }: Call): boolean {
  const { kind, detail } = error
  const { status, retryAfterMs = 0 } = error as Partial<ResponseHead>
  if (kind === 'api' && status === 401) return renewable
  if (route.idempotent === false && !NOT_PROCESSED.test(kind + status)) return false
  // JSON that is cut.
  if (kind === 'malformed-response' && error.retryable) return true
  if (!TEMPORARY.test(`${status ?? kind}`) || retryAfterMs > MAX_RETRY_AFTER) return false
  // A token that cannot be sent has no cause.
  if (kind === 'token') return 'cause' in error
  return kind !== 'connection' || !PERMANENT.test(detail)
}

/**
 * Takes the next retry of a call, after a failure that is retryable. Returns the delay before it in milliseconds; undefined
 * if there is none left.
 */
export function takeRetry(error: PlantStoreError, call: Call): number | undefined {
  const { status, retryAfterMs } = error as Partial<ResponseHead>
  const isShed = status === 429 || (status === 503 && retryAfterMs !== undefined)
  const cost = isShed ? SHED_COST : COST
  const { token, retries, budget, retryDelay = isShed ? SHED_DELAY : DELAY } = call.settings
  if (status === 401) {
    // Another token is not a retry.
    Object.assign(call, { token, renewable: false })
    return 0
  }
  if (call.retries >= retries || budget.spent + cost > MAX_SPENT) return undefined
  budget.spent += cost
  call.lastCost = cost
  // Full jitter, so that clients that failed together do not retry together.
  const delay = Math.random() * Math.min(Math.max(MAX_DELAY, retryDelay), retryDelay * 2 ** call.retries++)
  return delay + (retryAfterMs ?? 0)
}

/** Gives back what the last retry of a call that succeeded has cost: the service works. Any other success brings back 1. */
export function recordSuccess({ settings: { budget }, lastCost = 1 }: Call): void {
  budget.spent = Math.max(0, budget.spent - lastCost)
}
