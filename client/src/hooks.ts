import type { PlantStoreError, ResponseHead } from './errors.ts'
import type { OperationName } from './generated/routes.ts'

/** One request of a call. All hooks of an attempt get the same object, so it can be the key of a `WeakMap`. */
export interface Attempt {
  readonly operation: OperationName
  /** The method, such as `POST`. */
  readonly method: string
  /** The complete URL. */
  readonly url: string
  /** 1 for the first attempt of a call, 2 for the next. */
  readonly number: number
  /** The request headers, names in lower case, without `authorization`. The `request` hook may add some. */
  readonly headers: Record<string, string>
}

/** The response of an attempt, for the `response` hook. */
export interface AttemptResponse extends ResponseHead {
  /** The time from the start of the attempt to the end of the response, in milliseconds. */
  readonly duration: number
}

/**
 * Functions that are called for each attempt: for logs, metrics and traces. The order of an attempt is `request`, then
 * the token, then the request itself, then `response` if one arrived completely, then `error` if the attempt failed. Of
 * several sets of hooks, those of the client run before the call's; `response` and `error` run only where `request` has
 * begun.
 *
 * @example
 * const client = createPlantStoreClient({
 *   hooks: {
 *     request: (attempt) => { attempt.headers.traceparent = currentTrace() },
 *     response: (attempt, { status, duration }) => histogram.record(duration, { operation: attempt.operation, status }),
 *   },
 * })
 */
export interface Hooks {
  /**
   * Runs before a request is sent, and may be async. If it throws, nothing is sent and the call fails. It may add the
   * header `authorization` only with `token: false`.
   */
  request?: ((attempt: Attempt) => unknown) | undefined
  /** Runs after a complete response, of any status. Its errors are ignored. */
  response?: ((attempt: Attempt, response: AttemptResponse) => unknown) | undefined
  /**
   * Runs after a failed attempt: no token, no response, or an error response. `retryDelay` is the delay before the next
   * attempt in milliseconds, undefined if there is none. Its errors are ignored.
   */
  error?: ((attempt: Attempt, error: PlantStoreError, retryDelay: number | undefined) => unknown) | undefined
}

/** Runs a callback that only observes a call: its errors are ignored. */
export function observe(callback: () => unknown): void {
  // A broken log must not fail a call that succeeded.
  void (async () => callback())().catch(() => undefined)
}
