/** A command was called in a way that it does not take. The message says what it takes. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
