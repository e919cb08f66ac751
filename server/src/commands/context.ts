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

/** How often a terminal shows how far a step is, and how often another output has a line, in milliseconds. */
const TERMINAL_INTERVAL = 200
const LINE_INTERVAL = 10_000
/** Goes back to the begin of the line and clears it. */
const CLEAR = '\r\u001b[K'

/**
 * Shows what a command is doing, once that takes long: on a terminal in one line that changes, elsewhere in a line every
 * ten seconds. `end` stops showing it, and removes it from a terminal.
 */
export function createProgress(stream: LogStream): Pick<Context, 'progress'> & { end(): void } {
  // What has no end to measure is for people who wait.
  let current = stream.isTTY ? 'Waiting for the database' : ''
  let isShown = false
  const interval = stream.isTTY ? TERMINAL_INTERVAL : LINE_INTERVAL
  const timer = setInterval(() => {
    if (current === '') return
    isShown = true
    stream.write(stream.isTTY ? CLEAR + current : `${current}\n`)
  }, interval).unref()
  return {
    progress(text) {
      current = text
    },
    end() {
      clearInterval(timer)
      if (isShown && stream.isTTY) stream.write(CLEAR)
      isShown = false
    },
  }
}
