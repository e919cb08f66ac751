import { isatty } from 'node:tty'
import pino, { type Logger } from 'pino'
import { logOutput } from './log-output.ts'

/** The longest line that is written as it is, in bytes: Docker splits lines of more than 16 KiB. */
const MAX_LINE = 16_000
/** How much is kept of a text in a longer line, in characters. */
const MAX_TEXT = 1_000
/** What JSON does not escape, and a program that reads lines, or a terminal, may take for a control character. */
const CONTROL_CHARACTERS = /[\u007f-\u009f\u2028\u2029]/g
/** Characters that a terminal may act on, but for line feeds and tabs, which a stack has. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is replaced.
const TERMINAL_CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g

/**
 * Creates a logger that writes lines of JSON, with the level as a word and the time in ISO 8601, or readable lines to a
 * terminal.
 *
 * @param descriptor the file descriptor to write to
 */
export async function createLogger(level: string, descriptor: number): Promise<Logger> {
  const format = isatty(descriptor) ? await createPrettyFormat() : sanitize
  const { write } = logOutput(descriptor)
  const options = { level, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: nameLevel } }
  return pino(options, { write: (line) => write(format(line)) })
}

/**
 * Returns a logger for what an operator must be able to prove later, such as created tokens: only `silent` turns it off,
 * since a level is chosen for how much the server says about itself.
 */
export function auditLogger(logger: Logger): Logger {
  return logger.level === 'silent' ? logger : logger.child({}, { level: 'info' })
}

/** Writes each UTF-16 code unit as an escape of JSON, such as `\u001b`. */
export function escapeAll(text: string): string {
  return text.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function nameLevel(label: string): { level: string } {
  return { level: label }
}

/** Loads what makes lines readable only for a terminal. */
async function createPrettyFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty')
  const format = prettyFactory({ ignore: 'pid,hostname,event', singleLine: true, translateTime: 'SYS:HH:MM:ss.l' })
  return (line) => format(mapTexts(line, (text) => text.replace(TERMINAL_CONTROLS, escapeAll)))
}

/** Cuts long texts in a line, such as an error of the database that repeats a plant, and escapes control characters. */
function sanitize(line: string): string {
  const short = Buffer.byteLength(line) <= MAX_LINE ? line : `${JSON.stringify(mapTexts(line, shorten))}\n`
  return short.replace(CONTROL_CHARACTERS, escapeAll)
}

function shorten(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}...` : text
}

/** Reads a line, with each of its texts changed. */
function mapTexts(line: string, change: (text: string) => string): object {
  return JSON.parse(line, (_name, value: unknown) => (typeof value === 'string' ? change(value) : value))
}
