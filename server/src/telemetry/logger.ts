import { isatty } from 'node:tty'
import pino, { type Logger } from 'pino'
import { writeAll } from './write-all.ts'

const STANDARD_OUTPUT = 1
export const STANDARD_ERROR = 2

/**
 * Creates a logger that writes lines of JSON, or readable lines to a terminal.
 *
 * @param descriptor the file descriptor to write to; default: standard output
 */
export async function createLogger(level: string, descriptor: number = STANDARD_OUTPUT): Promise<Logger> {
  if (!isatty(descriptor)) return pino({ level }, { write: (line) => writeOrDrop(descriptor, line) })
  const { default: pretty } = await import('pino-pretty')
  const destination = pretty({
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l',
    sync: true,
    destination: descriptor,
  })
  return pino({ level }, destination)
}

/** Drops a line that cannot be written, for example on a full disk. Pino's own writer would retry forever. */
function writeOrDrop(descriptor: number, line: string): void {
  try {
    writeAll(descriptor, line)
  } catch {
    // There is nowhere to report it.
  }
}
