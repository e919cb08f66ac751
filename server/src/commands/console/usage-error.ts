/** A command was called with invalid arguments. The message says which are valid. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
