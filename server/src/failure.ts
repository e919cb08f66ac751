import { type ErrorBody, type ErrorName, errorCatalogue, statusOf } from '@plant-store/contract'

/** What a failure carries beside its reason and message. */
export interface FailureOptions {
  /** Headers that the answer needs, such as `Allow` or `Retry-After`. */
  headers?: Record<string, string>
  /** What went wrong underneath. It is logged and never answered. */
  cause?: unknown
}

/** A failure that is answered to the caller as an `Error` body: thrown anywhere, sent by the error handler. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly reason: ErrorName
  readonly headers: Record<string, string>

  /**
   * @param reason the entry of the error catalogue; it decides the status and the number
   * @param message what to mend, in one sentence that names the field; never a value that the caller sent
   */
  constructor(
    reason: ErrorName,
    message: string = errorCatalogue[reason].reason,
    { headers = {}, cause }: FailureOptions = {},
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
