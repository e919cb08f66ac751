import { isatty } from 'node:tty'
import pino, { type Logger, type LoggerOptions } from 'pino'
import { logOutput } from './log-output.ts'
import { readForTerminal, sanitize } from './sanitize.ts'

const STANDARD_OUTPUT = 1
export const STANDARD_ERROR = 2

const FORMAT: LoggerOptions = {
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
}

/**
 * Creates a logger that writes lines of JSON, with the level as a word and the time in ISO 8601, or readable lines to a
 * terminal.
 *
 * @param descriptor the file descriptor to write to; default: standard output
 */
export async function createLogger(level: string, descriptor: number = STANDARD_OUTPUT): Promise<Logger> {
  const format = isatty(descriptor) ? await createPrettyFormat() : sanitize
  const output = logOutput(descriptor)
  return pino({ ...FORMAT, level }, { write: (line) => output.write(format(line)) })
}

/** Loads what makes lines readable only for a terminal. */
async function createPrettyFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty')
  const format = prettyFactory({ ignore: 'pid,hostname,event', singleLine: true, translateTime: 'SYS:HH:MM:ss.l' })
  return (line) => format(readForTerminal(line))
}

/**
 * Returns a logger for what an operator must be able to prove later, such as created tokens: only `silent` turns it off,
 * since a level is chosen for how much the server says about itself.
 */
export function auditLogger(logger: Logger): Logger {
  return logger.level === 'silent' ? logger : logger.child({}, { level: 'info' })
}

/** A logger for many short lines, and its output. */
export interface CollectingLogger {
  logger: Logger
  /** Whether the reader of the log is fast enough for more lines. */
  hasRoom(): boolean
  /** Writes the last lines; those that the reader does not take in time are dropped. */
  flush(): Promise<void>
}

/**
 * Creates a logger for many short lines without control characters, which are written together: a system call for each
 * would take longer than the line. The event loop does not wait for their reader. A terminal gets each line as it comes.
 */
export function collectingLogger(logger: Logger, descriptor: number = STANDARD_OUTPUT): CollectingLogger {
  if (logger.level === 'silent' || isatty(descriptor)) {
    return { logger: auditLogger(logger), hasRoom: () => true, flush: async () => {} }
  }
  const { collect, hasRoom, flush } = logOutput(descriptor)
  return { logger: pino(FORMAT, { write: collect }), hasRoom, flush }
}
