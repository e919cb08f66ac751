import { isatty } from 'node:tty'
import pino, { type Logger, type LoggerOptions } from 'pino'
import { writeAll } from './write-all.ts'

const STANDARD_OUTPUT = 1
export const STANDARD_ERROR = 2
/** The longest line that is written as it is, in characters: Docker splits lines of more than 16 KiB. */
const MAX_LINE = 8_000
/** How much is kept of a text in a longer line, in characters. */
const MAX_TEXT = 1_000
/** What JSON does not escape, and a program that reads lines, or a terminal, may take for a control character. */
const CONTROL_CHARACTERS = /[\u007f-\u009f\u2028\u2029]/g

/**
 * Creates a logger that writes lines of JSON, with the level as a word and the time in ISO 8601, or readable lines to a
 * terminal.
 *
 * @param descriptor the file descriptor to write to; default: standard output
 */
export async function createLogger(level: string, descriptor: number = STANDARD_OUTPUT): Promise<Logger> {
  const options: LoggerOptions = {
    level,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  }
  if (!isatty(descriptor))
    return pino(options, { write: (line) => writeOrDrop(descriptor, escapeControls(shorten(line))) })
  const { default: pretty } = await import('pino-pretty')
  const destination = pretty({
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l',
    sync: true,
    destination: descriptor,
  })
  return pino(options, destination)
}

/**
 * Returns a logger for what an operator must be able to prove later, such as created tokens: only `silent` turns it off,
 * since a level is chosen for how much the server says about itself.
 */
export function auditLogger(logger: Logger): Logger {
  return logger.level === 'silent' ? logger : logger.child({}, { level: 'info' })
}

/** Cuts the texts in a line that is too long, such as an error of the database that repeats a plant. */
function shorten(line: string): string {
  if (line.length <= MAX_LINE) return line
  const cut = (_name: string, value: unknown) =>
    typeof value === 'string' && value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}...` : value
  return `${JSON.stringify(JSON.parse(line), cut)}\n`
}

function escapeControls(line: string): string {
  return line.replace(CONTROL_CHARACTERS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Drops a line that cannot be written, for example on a full disk. Pino's own writer would retry forever. */
function writeOrDrop(descriptor: number, line: string): void {
  try {
    writeAll(descriptor, line)
  } catch {
    // There is nowhere to report it.
  }
}
