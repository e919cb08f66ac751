import type { PlantStoreError } from './errors.ts'
import type { ResponseHeaders } from './fetch.ts'
import type { OperationName } from './generated/routes.ts'

/** One request of a call. All hooks of an attempt get the same object, so it can be the key of a map. */
export interface Attempt {
  readonly operation: OperationName
  /** The method, such as `POST`. */
  readonly method: string
  /** The complete URL. */
  readonly url: string
  /** 1 for the first attempt of a call, 2 for the next. */
  readonly number: number
  /** The request headers, names in lower case, without the `authorization` of the options. The `request` hook may add some. */
  readonly headers: Record<string, string>
}

/** The response of an attempt, for the `response` hook. */
export interface AttemptResponse {
  /** The HTTP status, such as 200. */
  readonly status: number
  readonly headers: ResponseHeaders
  /** The `X-Request-Id` of the response. */
  readonly requestId: string | undefined
  /** The `Retry-After` of the response in milliseconds, if it has one. */
  readonly retryAfterMs: number | undefined
  /** The time from the start of the attempt to the end of the response, in milliseconds. */
  readonly duration: number
}

/**
 * Functions that are called for each attempt: for logs, metrics and traces.
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
  /** Runs before a request is sent, and may be async. If it throws, nothing is sent and the call fails. */
  request?: ((attempt: Attempt) => unknown) | undefined
  /** Runs after a complete response, of any status. Its errors are ignored. */
  response?: ((attempt: Attempt, response: AttemptResponse) => unknown) | undefined
  /**
   * Runs after a failed attempt: no response, or an error response. `retryDelay` is the delay before the next attempt in
   * milliseconds, undefined if there is none. Its errors are ignored.
   */
  error?: ((attempt: Attempt, error: PlantStoreError, retryDelay: number | undefined) => unknown) | undefined
}

/** A logger such as `console`, pino or winston. */
export interface Logger {
  debug(line: string): void
  warn(line: string): void
}

/** Runs a callback that only observes a call: its errors are ignored. */
export function observe(callback: () => unknown): void {
  void (async () => {
    try {
      await callback()
    } catch {
      // A broken logger must not fail a call that succeeded.
    }
  })()
}
