import type { PlantStoreError } from './errors.ts'
import type { ResponseHeaders } from './fetch.ts'
import type { OperationName } from './generated/operations.ts'

/** One request of a call. The same object goes to all hooks of an attempt, so that it can be the key of a map. */
export interface Attempt {
  readonly operation: OperationName
  /** The method, such as `POST`. */
  readonly method: string
  /** The whole URL. */
  readonly url: string
  /** 1 for the first attempt of a call, 2 for the next. */
  readonly number: number
  /** The headers to send, names in lower case. `authorization` is not among them. The `request` hook may add some. */
  readonly headers: Record<string, string>
}

/** An answer, as the `response` hook sees it. */
export interface AttemptAnswer {
  /** The HTTP status, such as 200. */
  readonly status: number
  readonly headers: ResponseHeaders
  /** The `X-Request-Id` of the answer. */
  readonly requestId: string | undefined
  /** From the beginning of the attempt to the end of the answer, in milliseconds. */
  readonly duration: number
}

/**
 * Functions that are called with each attempt: for logs, metrics and traces.
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
  /** Before a request is sent, which waits for it. Where it throws, nothing is sent and the call fails. */
  request?: ((attempt: Attempt) => unknown) | undefined
  /** After a whole answer, of whatever status. What it throws is ignored. */
  response?: ((attempt: Attempt, answer: AttemptAnswer) => unknown) | undefined
  /**
   * After a failed attempt: no answer, or one that is no success. `retryDelay` is the wait before the next attempt in
   * milliseconds, undefined where the call has failed for good. What it throws is ignored.
   */
  error?: ((attempt: Attempt, error: PlantStoreError, retryDelay: number | undefined) => unknown) | undefined
}

/** Takes lines of text. `console`, pino and winston are loggers. */
export interface Logger {
  debug(line: string): void
  warn(line: string): void
}

/** Calls what only watches: it cannot make a call fail. */
export function observe(watch: () => unknown): void {
  void (async () => {
    try {
      await watch()
    } catch {
      // A broken log line must not undo a plant that was created.
    }
  })()
}
