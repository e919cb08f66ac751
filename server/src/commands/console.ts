/** What commands print, and the errors that end them. */
import { readFileSync, readlinkSync } from 'node:fs'
import type { Logger } from 'pino'
import type { Settings } from '../settings.ts'
import { STANDARD_ERROR, STANDARD_OUTPUT, writeAll } from '../telemetry/log/log-output.ts'
import { escapeAll } from '../telemetry/log/logger.ts'

/** What a command works with. */
export interface Context {
  settings: Settings
  logger: Logger
  /** The file descriptors of standard output and standard error. */
  output: number
  errors: number
}

const ACCESS_MODE = 0b11
const READ_AND_WRITE = 0b10

/** A command was called with invalid arguments. The message says which are valid. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A command could not do what its arguments say. The message says why and what to do. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError'
}

/** Standard output cannot be written. The cause is the code of the system's error. */
export class OutputError extends CommandError {
  override readonly name = 'OutputError'
}

/**
 * Prints the result of a command.
 *
 * @param output the file descriptor of standard output
 * @throws OutputError if it is closed or cannot be written
 */
export function print(text: string, output: number = STANDARD_OUTPUT): void {
  const code = isClosed(output) ? 'EBADF' : tryToWrite(output, `${text}\n`)
  if (!code) return
  throw new OutputError(`standard output cannot be written (${code}): redirect it and retry`, { cause: code })
}

/**
 * Prints what a command has done. A closed standard output is not an error here: it looks like output that is discarded
 * on purpose.
 *
 * @throws OutputError that includes the line
 */
export function announce(line: string, output: number = STANDARD_OUTPUT): void {
  const code = tryToWrite(output, `${line}\n`)
  if (!code) return
  throw new OutputError(`${line.replace(/\.$/, '')}, but standard output cannot be written (${code})`, { cause: code })
}

/** Prints text to standard error; what cannot be written is dropped. */
export function printError(text: string, errors: number = STANDARD_ERROR): void {
  tryToWrite(errors, `${text}\n`)
}

/**
 * Whether standard output was closed when the process started. Node.js then opens /dev/null in its place for reading and
 * writing, as `stdio: 'ignore'` does; a redirection to /dev/null only writes.
 */
export function isClosed(output: number = STANDARD_OUTPUT): boolean {
  try {
    if (readlinkSync(`/proc/self/fd/${output}`) !== '/dev/null') return false
    const [, flags = ''] = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${output}`, 'utf8')) ?? []
    return (Number.parseInt(flags, 8) & ACCESS_MODE) === READ_AND_WRITE
  } catch {
    // Only Linux has these files.
    return false
  }
}

/** Writes text; returns the code of an error, or undefined. */
export function tryToWrite(descriptor: number, text: string): string | undefined {
  try {
    writeAll(descriptor, text)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}

/**
 * Control characters, terminal escapes among them, line separators, and characters that are invisible or change the order
 * of what follows. The joiners of scripts and emoji are left.
 */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]|(?!\u200c|\u200d)\p{Cf}/gu

/** Makes text of others safe for a terminal: what it does not show as a character becomes an escape such as `\u001b`. */
export function toPrintable(text: string): string {
  return text.replace(UNPRINTABLE, escapeAll)
}

/** Formats a value as JSON that is safe for a terminal: the escapes are those of JSON, so it parses to the same value. */
export function formatJson(value: unknown): string {
  return JSON.stringify(value, null, 2).split('\n').map(toPrintable).join('\n')
}
