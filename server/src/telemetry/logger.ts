import { isatty } from 'node:tty'
import pino, { type Logger } from 'pino'
import { writeAll } from './write-all.ts'

const STANDARD_OUTPUT = 1
export const STANDARD_ERROR = 2

/**
 * Makes a log of the process: lines of JSON for programs, and lines for people where it goes to a terminal.
 *
 * @param descriptor where it goes; default: standard output
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

/** A log that cannot be written, such as on a full disk, stops nothing. Pino's own writer would try for ever. */
function writeOrDrop(descriptor: number, line: string): void {
  try {
    writeAll(descriptor, line)
  } catch {
    // There is no place to tell it.
  }
}
