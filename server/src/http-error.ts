import { type ErrorBody, type ErrorName, errorCatalogue } from '@plant-store/contract'
import { type Rejection, requestRejected } from './telemetry/events.ts'

/** An error that the client gets as an `Error` body: thrown anywhere, sent by the error handler. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly reason: ErrorName
  readonly headers: Record<string, string>

  /**
   * @param reason the entry of the error catalogue; it decides the status and the number
   * @param message what to fix, in one sentence that names the field; never a token, nor a value of the body
   * @param options `headers` of the response, such as `Allow` or `Retry-After`, and the underlying error as `cause`, which is
   *   logged and never sent
   */
  constructor(
    reason: ErrorName,
    message: string = errorCatalogue[reason].reason,
    { headers = {}, cause }: { headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.reason = reason
    this.headers = headers
  }

  get status(): number {
    return Math.floor(errorCatalogue[this.reason].code / 100)
  }

  get body(): ErrorBody {
    return { error: errorCatalogue[this.reason].code, message: this.message }
  }
}

/**
 * Counts a request that is shed under its reason, and returns its error.
 *
 * @param retryAfter when its client should retry it, in seconds
 * @param cause what is logged; undefined: nothing
 */
export function shed(reason: Rejection, message: string, retryAfter: number, cause?: unknown): HttpError {
  requestRejected.publish(reason)
  return new HttpError('unavailable', message, { headers: { 'Retry-After': String(retryAfter) }, cause })
}
