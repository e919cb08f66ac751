import type { Logger } from 'pino'
import type { Settings } from '../settings.ts'
import type { LogStream } from '../telemetry/log.ts'

/** What a command works with. */
export interface Context {
  settings: Settings
  logger: Logger
  /** Prints the result of the command to standard output. */
  print(text: string): Promise<void>
  /** Shows on standard error what the command does now, and how far that is, once it takes long. */
  progress(text: string): void
}

/**
 * Escapes what a terminal would act on, such as control characters and those that reverse the text, as `\\u202e`: also in
 * JSON, which stays the same.
 */
export function escapeInvisible(text: string): string {
  const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (found) => found.split('').map(escapeUnit).join(''))
}

/** How often it is shown how far a command is, in milliseconds. */
const PROGRESS_INTERVAL = 5_000

/** Shows what a command is doing, once that takes long, in a line every five seconds until `end`. */
export function createProgress(stream: LogStream): Pick<Context, 'progress'> & { end(): void } {
  let current = 'Waiting for the database'
  const timer = setInterval(() => stream.write(`${current}\n`), PROGRESS_INTERVAL).unref()
  return {
    progress(text) {
      current = text
    },
    end: () => clearInterval(timer),
  }
}
