import { fstatSync, writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import pino, { type Logger } from 'pino'
import { rejections, requestRejected, subscribe } from './events.ts'

/** Where a log goes: standard output or standard error, which have a file descriptor, or any stream. */
export type LogStream = Writable & { fd?: number; isTTY?: boolean }

/** How much may wait for a slow reader before lines are dropped, in bytes. */
const MAX_WAITING = 1_000_000
/** How long a shutdown waits for the reader, in milliseconds. */
const MAX_FLUSH = 500
/** How often a reason of rejections is logged, at most, in milliseconds. */
const REJECTION_INTERVAL = 1_000

/**
 * Creates a logger that writes lines of JSON, with the level as a word and the time in ISO 8601, or readable lines to a
 * terminal. Nothing ever waits for the reader, and what cannot be written, such as on a full disk, is dropped: pino's own
 * writer waits in a thread, and retries for ever.
 */
export async function createLog(level: string, stream: LogStream) {
  const format = stream.isTTY ? await createPrettyFormat() : (line: string) => line
  const file = stream.fd !== undefined && fstatSync(stream.fd).isFile() ? stream.fd : undefined
  let lines = ''
  // A reader that is gone needs no lines.
  stream.on('error', () => {})

  function writeLines(): void {
    const text = lines
    lines = ''
    if (file !== undefined) tryToWrite(file, text)
    else if (stream.writableLength < MAX_WAITING) stream.write(text)
  }

  /** Writes a line with all others of this turn of the event loop. */
  function write(line: string): void {
    if (lines === '') setImmediate(writeLines)
    lines += format(line)
  }

  const timestamp = pino.stdTimeFunctions.isoTime
  const formatters = { level: (label: string) => ({ level: label }) }
  return {
    logger: pino({ level, timestamp, formatters }, { write }),
    /** Writes what is left. What the reader does not take within half a second is dropped. */
    async flush(): Promise<void> {
      writeLines()
      const written = new Promise((resolve) => stream.write('', resolve))
      await Promise.race([written, sleep(MAX_FLUSH, undefined, { ref: false })])
    },
  }
}

/**
 * Returns a logger for what an operator must be able to prove later, such as created tokens: only `silent` turns it off,
 * since a level is chosen for how much the server says about itself.
 */
export function auditLogger(logger: Logger): Logger {
  return logger.level === 'silent' ? logger : logger.child({}, { level: 'info' })
}

/** Creates what tells whether something that may happen all the time is logged: at most once in an interval, in milliseconds. */
export function oncePer(interval: number): () => boolean {
  let silentUntil = 0
  return () => {
    const now = performance.now()
    if (now < silentUntil) return false
    silentUntil = now + interval
    return true
  }
}

/**
 * Logs why requests and connections are rejected, each reason at most once per second: a line for each would cost more than
 * rejecting it, under overload.
 *
 * @returns a function that unsubscribes
 */
export function logRejections(logger: Logger): () => void {
  const mayLog = new Map(rejections.map((reason) => [reason, oncePer(REJECTION_INTERVAL)]))
  return subscribe(requestRejected, (reason) => {
    if (!mayLog.get(reason)?.()) return
    logger.info({ event: 'requests rejected', reason }, `requests are rejected: ${reason}`)
  })
}

/** Writes to a file. The stream of Node.js would end with the first error, such as that of a disk that is full for a while. */
function tryToWrite(file: number, text: string): void {
  try {
    writeSync(file, text)
  } catch {
    // There is nowhere to report it.
  }
}

/** Loads what makes lines readable only for a terminal. */
async function createPrettyFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty')
  return prettyFactory({ ignore: 'pid,hostname,event', singleLine: true, translateTime: 'SYS:HH:MM:ss.l' })
}
