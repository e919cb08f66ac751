import { isatty } from 'node:tty'
import pino, { type Logger, type LoggerOptions } from 'pino'
import { createInterval } from './interval.ts'
import { createLogOutput, sanitize } from './log-output.ts'

const STANDARD_OUTPUT = 1
export const STANDARD_ERROR = 2
/** How long lines of the access log are collected, at most, in milliseconds; a crash of the process loses these. */
const COLLECTING_INTERVAL = 100
/** How much of them is collected, in characters. */
const MAX_COLLECTED = 32 * 1024

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
  if (!isatty(descriptor)) {
    const output = createLogOutput(descriptor)
    return pino({ ...FORMAT, level }, { write: (line) => output(sanitize(line)) })
  }
  const { default: pretty } = await import('pino-pretty')
  const destination = pretty({
    ignore: 'pid,hostname,event',
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
    sync: true,
    destination: descriptor,
  })
  return pino({ ...FORMAT, level }, destination)
}

/**
 * Returns a logger for what an operator must be able to prove later, such as created tokens: only `silent` turns it off,
 * since a level is chosen for how much the server says about itself.
 */
export function auditLogger(logger: Logger): Logger {
  return logger.level === 'silent' ? logger : logger.child({}, { level: 'info' })
}

/**
 * Creates a logger for many short lines without control characters, which it writes together: a system call for each
 * would take longer than the line. A terminal gets each line as it comes.
 */
export function collectingLogger(logger: Logger, descriptor: number = STANDARD_OUTPUT): Logger {
  if (logger.level === 'silent' || isatty(descriptor)) return auditLogger(logger)
  const output = createLogOutput(descriptor)
  let lines = ''
  const interval = createInterval(COLLECTING_INTERVAL, () => {
    const text = lines
    lines = ''
    output(text)
  })
  process.once('exit', interval.end)
  return pino(FORMAT, {
    write(line) {
      lines += line
      interval.begin()
      if (lines.length > MAX_COLLECTED) interval.end()
    },
  })
}
