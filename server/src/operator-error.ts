/** A mistake of the operator, or of the machine. The message says what is wrong and what to do. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
  /** The exit code of a command: 2 where a setting or an argument has to be corrected first, otherwise 1. */
  readonly exitCode: 1 | 2

  constructor(message: string, exitCode: 1 | 2 = 2, cause?: unknown) {
    super(message, { cause })
    this.exitCode = exitCode
  }
}
