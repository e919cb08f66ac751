import { type ErrorBody, type ErrorName, errorCatalogue, statusOf } from '@plant-store/contract'
import { type Rejection, requestRejected } from './telemetry/events.ts'

/** What a failure has besides its reason and message. */
export interface HttpErrorOptions {
  /** Headers of the response, such as `Allow` or `Retry-After`. */
  headers?: Record<string, string>
  /** The underlying error, which is logged and never sent. */
  cause?: unknown
}

/** A failure that the client gets as an `Error` body: thrown anywhere, sent by the error handler. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly reason: ErrorName
  readonly headers: Record<string, string>

  /**
   * @param reason the entry of the error catalogue; it decides the status and the number
   * @param message what to fix, in one sentence that names the field; never a value that the client sent
   */
  constructor(
    reason: ErrorName,
    message: string = errorCatalogue[reason].reason,
    { headers = {}, cause }: HttpErrorOptions = {},
  ) {
    super(message, { cause })
    this.reason = reason
    this.headers = headers
  }

  get status(): number {
    return statusOf(this.reason)
  }

  get body(): ErrorBody {
    return { error: errorCatalogue[this.reason].code, message: this.message }
  }
}

/**
 * Counts a request that is shed under its reason, and returns its failure.
 *
 * @param headers besides `Retry-After`, which is one second by default
 */
export function shed(reason: Rejection, message: string, headers: Record<string, string> = {}): HttpError {
  requestRejected.publish(reason)
  return new HttpError('unavailable', message, { headers: { 'Retry-After': '1', ...headers } })
}
