import { readFileSync, readlinkSync } from 'node:fs'
import { writeAll } from '../telemetry/write-all.ts'

const STANDARD_OUTPUT = 1
const ACCESS_MODE = 0b11
const READ_AND_WRITE = 0b10

/** Standard output cannot be written. The message is one sentence that says what to do. */
export class OutputError extends Error {
  override readonly name = 'OutputError'
  /** Whether a reader such as `head` has closed the pipe, because it has what it wants: no reason for a message. */
  readonly isReaderGone: boolean

  constructor(message: string, isReaderGone = false) {
    super(message)
    this.isReaderGone = isReaderGone
  }
}

/**
 * Prints a line that the command was called for.
 *
 * @throws OutputError where it cannot be shown
 */
export function print(line: string): void {
  const code = isOutputClosed() ? 'EBADF' : tryToWrite(line)
  if (!code) return
  throw new OutputError(`standard output cannot be written (${code}): send it elsewhere and retry`, code === 'EPIPE')
}

/**
 * Prints what a command has done. It is done, shown or not: that standard output is closed is no error here, since
 * nothing tells it from output that was discarded on purpose.
 *
 * @throws OutputError with the line, where it cannot be shown
 */
export function announce(line: string): void {
  const code = tryToWrite(line)
  if (!code) return
  throw new OutputError(`${line.replace(/\.$/, '')}, but standard output cannot be written (${code})`, code === 'EPIPE')
}

/**
 * Whether standard output was closed when the process started. Node.js then opens /dev/null in its place, to read and to
 * write, as `stdio: 'ignore'` does; a redirection to /dev/null only writes.
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

/** Gives the code of the error, or nothing. */
function tryToWrite(line: string): string | undefined {
  try {
    writeAll(STANDARD_OUTPUT, `${line}\n`)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}
