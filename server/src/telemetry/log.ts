import type { Writable } from 'node:stream'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import pino, { type Logger } from 'pino'
import type { Identity } from '../requests/context.ts'
import { events } from './events.ts'

/** Where a log goes. */
export type LogStream = Writable & { isTTY?: boolean }

/** How much may wait for a slow reader before lines are dropped, in bytes. */
const MAX_WAITING = 1_000_000
/** How long a line may be, in bytes; a message of a database may have any length. */
const MAX_LINE = 15_000
/** How many characters of each text a longer line keeps, at first. */
const LONG_TEXT = 4_000
/** How long a shutdown waits for the reader, in milliseconds. */
const MAX_FLUSH = 500
/** How many reasons of lines are kept at the same time: a client can cause any number of them. */
const MAX_REASONS = 100

/** A log and what writes its lines. */
export interface Log {
  logger: Logger
  /**
   * Writes what is left. What the reader does not take within half a second is dropped.
   *
   * @returns whether everything that was logged is written
   */
  flush(): Promise<boolean>
}

/**
 * Creates a logger that writes lines of JSON, with the level as a word and the time in ISO 8601, or readable lines to a
 * terminal. Nothing ever waits for the reader: lines wait in memory, and beyond a limit they are dropped, which the
 * next one that is written reports. pino's own writer waits in a thread, and retries for ever.
 */
export async function createLog(level: string, stream: LogStream): Promise<Log> {
  const format = stream.isTTY ? await createPrettyFormat() : (line: string) => line
  let dropped = 0
  let hasFailed = false
  // A reader that is gone needs no lines.
  stream.on('error', () => {
    hasFailed = true
  })

  /** Writes a line with all others of this turn of the event loop. */
  function write(line: string): void {
    if (stream.writableLength >= MAX_WAITING) {
      dropped++
      return
    }
    if (dropped > 0) {
      const lines = dropped
      dropped = 0
      auditLogger(logger).warn({ event: 'lines dropped', lines }, 'lines of the log could not be written')
    }
    if (stream.writableCorked === 0) {
      stream.cork()
      setImmediate(() => stream.uncork())
    }
    stream.write(format(shortenLine(line)))
  }

  const timestamp = pino.stdTimeFunctions.isoTime
  const formatters = { level: (label: string) => ({ level: label }) }
  const logger = pino({ level, timestamp, formatters }, { write })
  return {
    logger,
    async flush() {
      stream.uncork()
      // An error of what has been written is reported in this turn.
      await nextTurn()
      if (stream.writableLength > 0) {
        const written = new Promise((resolve) => stream.write('', resolve))
        await Promise.race([written, sleep(MAX_FLUSH, undefined, { ref: false })])
      }
      return !hasFailed && dropped === 0 && stream.writableLength === 0
    },
  }
}

/**
 * Returns a logger for what an operator must be able to prove later, such as created tokens: only `silent` turns it
 * off, since a level is chosen for how much the server says about itself.
 */
export function auditLogger(logger: Logger): Logger {
  return logger.level === 'silent' ? logger : logger.child({}, { level: 'info' })
}

/**
 * Creates the limit of lines that could be logged all the time: it returns whether to log one, each reason at most once in
 * a time.
 *
 * @param time in milliseconds
 */
export function onceIn(time: number): (reason: string) => boolean {
  const logged = new LRUCache<string, true>({ max: MAX_REASONS, ttl: time })
  return (reason) => {
    const isNew = !logged.has(reason)
    if (isNew) logged.set(reason, true)
    return isNew
  }
}

/**
 * Logs why requests and connections are rejected, each reason at most once per second: a line for each would cost more
 * than rejecting it, under overload.
 */
export function logRejections(logger: Logger): void {
  const mayLog = onceIn(1_000)
  events.on('requestRejected', (reason) => {
    if (mayLog(reason)) logger.info({ event: 'requests rejected', reason }, `requests are rejected: ${reason}`)
  })
}

/** A part of a path that could be a token. */
const SECRET = /[^/]{24,}/g

/**
 * Logs each request once it has ended, at `debug`: at other levels this must not be called, since the event costs time
 * with every request once it has a listener. No line has a token or the text of a query.
 */
export function logRequests(logger: Logger): void {
  events.on('requestEnded', ({ method, path: target, context }, status, seconds) => {
    const { requestId, errorCode: error } = context
    const { account, tokenId }: Partial<Identity> = context.identity ?? {}
    const path = String(target)
      .replace(SECRET, '…')
      .replace(/[^!-~…]/g, '?')
    const milliseconds = Math.round(seconds * 10_000) / 10
    const line = [method, shorten(path, 20), status, error, `${milliseconds} ms`]
    const client = account !== undefined && tokenId !== undefined && [shorten(account, 10), shorten(tokenId, 12)]
    const text = [...line, ...(client || []), shorten(requestId, 9)].filter((part) => part !== undefined).join(' ')
    logger.debug({ event: 'request', method, path, status, error, milliseconds, account, tokenId, requestId }, text)
  })
}

/** Cuts all texts of a line until it is short enough for systems that collect logs. */
function shortenLine(line: string): string {
  let short = line
  for (let length = LONG_TEXT; length >= 1 && Buffer.byteLength(short) > MAX_LINE; length /= 2) {
    const cut = (_name: string, value: unknown) => (typeof value === 'string' ? shorten(value, length) : value)
    short = `${JSON.stringify(JSON.parse(short, cut))}\n`
  }
  return short
}

/** Cuts a text that is too long for its place. */
function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

/** What a terminal would act on, and JSON does not escape. */
const INVISIBLE = /[\x80-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu

/** Loads what makes lines readable only for a terminal. */
async function createPrettyFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty')
  const options = { ignore: 'pid,hostname,event', translateTime: 'SYS:HH:MM:ss.l' }
  // Where it hides the object, a single line has no end.
  const format = prettyFactory({ ...options, singleLine: true })
  const formatRequest = prettyFactory({ ...options, hideObject: true })
  return (line) => {
    const shown = line.replace(INVISIBLE, '?')
    return line.includes('"event":"request"') ? formatRequest(shown) : format(shown)
  }
}
