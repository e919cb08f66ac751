/** A command was called with invalid arguments. The message says which are valid. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A command could not do what its arguments say. The message says why and what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}
