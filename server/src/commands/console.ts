/** What commands work with, and the errors that end them. */
import type { Writable } from 'node:stream'
import type { Logger } from 'pino'
import type { Settings } from '../settings.ts'

/** What a command works with. */
export interface Context {
  settings: Settings
  logger: Logger
  /** Prints the result of the command to standard output. */
  print(text: string): Promise<void>
}

/** A command was called with invalid arguments. The message says which are valid. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A command could not do what its arguments say. The message says why and what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/**
 * Writes a line, and waits until the system has taken it.
 *
 * @throws CommandError with the error of the system as its cause
 */
export function writeLine(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(`${text}\n`, (cause) => {
      if (cause) reject(new CommandError(`standard output cannot be written: ${cause.message}`, { cause }))
      else resolve()
    })
  })
}
