import { readFileSync, readlinkSync } from 'node:fs'
import { writeAll } from '../../telemetry/write-all.ts'

const STANDARD_OUTPUT = 1
const ACCESS_MODE = 0b11
const READ_AND_WRITE = 0b10

/** Standard output cannot be written. The message says in one sentence what to do. */
export class OutputError extends Error {
  override readonly name = 'OutputError'
  /** Whether a reader such as `head` has closed the pipe, which needs no message. */
  readonly isReaderGone: boolean

  constructor(message: string, isReaderGone = false) {
    super(message)
    this.isReaderGone = isReaderGone
  }
}

/**
 * Prints the result of a command.
 *
 * @throws OutputError if standard output is closed or cannot be written
 */
export function print(line: string): void {
  const code = isOutputClosed() ? 'EBADF' : tryToWrite(line)
  if (!code) return
  throw new OutputError(`standard output cannot be written (${code}): redirect it and retry`, code === 'EPIPE')
}

/**
 * Prints what a command has done. A closed standard output is not an error here: it looks like output that is discarded
 * on purpose.
 *
 * @throws OutputError that includes the line
 */
export function announce(line: string): void {
  const code = tryToWrite(line)
  if (!code) return
  throw new OutputError(`${line.replace(/\.$/, '')}, but standard output cannot be written (${code})`, code === 'EPIPE')
}

/**
 * Whether standard output was closed when the process started. Node.js then opens /dev/null in its place for reading and
 * writing, as `stdio: 'ignore'` does; a redirection to /dev/null only writes.
 */
export function isOutputClosed(): boolean {
  try {
    if (readlinkSync(`/proc/self/fd/${STANDARD_OUTPUT}`) !== '/dev/null') return false
    const [, flags = ''] = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${STANDARD_OUTPUT}`, 'utf8')) ?? []
    return (Number.parseInt(flags, 8) & ACCESS_MODE) === READ_AND_WRITE
  } catch {
    // Only Linux has these files.
    return false
  }
}

/** Returns the code of an error, or undefined. */
function tryToWrite(line: string): string | undefined {
  try {
    writeAll(STANDARD_OUTPUT, `${line}\n`)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}
