import { maxPageBytes } from '@plant-store/prisma'
import { HttpError, shed } from '../../http-error.ts'
import { createFairShare, SCARCE } from '../../limits/fair-share.ts'
import type { Settings } from '../../settings.ts'
import type { Rejection } from '../../telemetry/events.ts'

/** The client that a response is read for. */
export interface Reader {
  account: string
  /** Whether it is still connected. */
  isConnected(): boolean
}

/** The memory of responses that wait to be read, shared by all accounts. */
export type ResponseMemory = ReturnType<typeof createResponseMemory>

/** That memory as one response uses it. */
export type ReaderMemory = ReturnType<ResponseMemory['of']>

/** A piece takes this many bytes a character until it is sent: as a string, and in UTF-8. */
export const BYTES_PER_CHARACTER = 3
/** A list that could be cached, and a piece of more than one plant, have at most this many characters. */
const MAX_CHARACTERS = 2 ** 20
/** The room that a response needs to begin, in bytes. */
const EXPECTED_SIZE = 2 ** 18
/** How many reads fit even into a small memory. */
const MIN_READS = 4
/** How long to wait for room that unread responses hold, in milliseconds. */
const UNREAD_TIMEOUT = 2_000
/** How long to wait for room that reads hold, in milliseconds: longer than any statement of the database takes. */
const READ_TIMEOUT = 12_000
/** How often those who wait are checked for a timeout, or a client that has disconnected, in milliseconds. */
const CHECK_INTERVAL = 50

/** A response that waits for room. */
interface Waiter {
  readonly reader: Reader
  readonly bytes: number
  /** Whether a response waits to begin: one that has begun waits as long as its client is connected. */
  readonly isFirst: boolean
  readonly begin: number
  resolve(): void
  reject(error: HttpError): void
}

/**
 * Creates the memory. A read reserves the most that it can bring before it begins, so that nothing is in memory uncounted: a
 * plant has at most as many characters as a body has bytes. A wait for room is blamed on clients only where unread responses
 * hold that room, and else on the database.
 */
export function createResponseMemory(settings: Pick<Settings, 'maxResponseMemory' | 'bodyLimit'>) {
  const { maxResponseMemory: capacity, bodyLimit } = settings
  const share = createFairShare(capacity, SCARCE)
  const unread = createFairShare(capacity, SCARCE)
  const piece = Math.max(MAX_CHARACTERS, bodyLimit)
  /** The buffers that responses are sending. */
  const buffers = new Map<Buffer, { responses: number; release(): void }>()
  /** In the order in which they came. */
  const waiting = new Set<Waiter>()
  let timer: NodeJS.Timeout | undefined

  function release(account: string, bytes: number): void {
    share.release(account, bytes)
    for (const waiter of waiting) {
      if (!share.hasRoom(waiter.reader.account, waiter.bytes)) continue
      // Taken here, so that nothing else finds it free before the waiter goes on.
      share.take(waiter.reader.account, waiter.bytes)
      waiting.delete(waiter)
      waiter.resolve()
    }
  }

  function check(): void {
    for (const waiter of waiting) {
      const failure = whyNotLonger(waiter)
      if (failure && waiting.delete(waiter)) waiter.reject(failure)
    }
    if (waiting.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function whyNotLonger({ reader, bytes, isFirst, begin }: Waiter): HttpError | undefined {
    if (!reader.isConnected()) return new HttpError('badRequest', 'The client has disconnected.')
    const reason = unread.hasRoom(reader.account, bytes) ? 'slow-database' : 'response-memory'
    const timeout = reason === 'slow-database' ? READ_TIMEOUT : UNREAD_TIMEOUT
    return isFirst && performance.now() > begin + timeout ? shed(reason, MESSAGES[reason]) : undefined
  }

  function sizeOf(characters: number): number {
    return Math.min(BYTES_PER_CHARACTER * characters, capacity / MIN_READS)
  }

  /** Takes room once there is enough, and returns what releases it. */
  async function reserve(reader: Reader, bytes: number, isFirst: boolean): Promise<() => void> {
    if (share.hasRoom(reader.account, bytes)) {
      share.take(reader.account, bytes)
    } else {
      await new Promise<void>((resolve, reject) => {
        waiting.add({ reader, bytes, isFirst, begin: performance.now(), resolve, reject })
        timer ??= setInterval(check, CHECK_INTERVAL)
      })
    }
    return () => release(reader.account, bytes)
  }

  async function read<T>(reader: Reader, bytes: number, isFirst: boolean, task: () => Promise<T>): Promise<T> {
    const releaseRoom = await reserve(reader, bytes, isFirst)
    try {
      return await task()
    } finally {
      // By the next turn of the event loop, the response has counted what it keeps of the result.
      setImmediate(releaseRoom)
    }
  }

  function holdBytes(account: string, bytes: number): () => void {
    share.take(account, bytes)
    unread.take(account, bytes)
    return () => {
      unread.release(account, bytes)
      release(account, bytes)
    }
  }

  function holdBuffer(account: string, buffer: Buffer): () => void {
    const sending = buffers.get(buffer) ?? { responses: 0, release: holdBytes(account, buffer.length) }
    buffers.set(buffer, sending)
    sending.responses++
    return () => {
      if (--sending.responses > 0) return
      buffers.delete(buffer)
      sending.release()
    }
  }

  return {
    /** How much all responses hold, in bytes. */
    used: share.used,

    /** Returns the memory as the response to a client uses it. */
    of: (reader: Reader) => ({
      /**
       * Waits until the response could begin, and reserves nothing: a list that is cached takes no memory until it is sent.
       *
       * @throws HttpError `unavailable` if unread responses leave no room for two seconds, or a slow database for twelve
       */
      async whenFree(): Promise<void> {
        const releaseRoom = await reserve(reader, Math.min(EXPECTED_SIZE, capacity / MIN_READS), true)
        releaseRoom()
      },

      /**
       * Reads the first piece of a page, or a whole list that may be cached, with room for it.
       *
       * @param limit how many plants the page has at most; undefined: the whole list
       * @throws HttpError `unavailable` as `whenFree`
       */
      readFirst: <T>(limit: number | undefined, task: () => Promise<T>) =>
        read(reader, sizeOf(limit === undefined ? MAX_CHARACTERS + piece : maxPageBytes(limit)), true, task),

      /** Reads the next piece of a response that has begun, which waits for room as long as its client is connected. */
      readNext: <T>(task: () => Promise<T>) => read(reader, sizeOf(piece), false, task),

      /**
       * Counts what the response keeps in memory: a number of bytes, or a buffer, which counts once however many responses
       * send it.
       *
       * @returns a function that releases it, to be called once
       */
      hold: (content: Buffer | number) =>
        typeof content === 'number' ? holdBytes(reader.account, content) : holdBuffer(reader.account, content),
    }),
  }
}

const MESSAGES = {
  'response-memory': 'Too many responses are waiting to be read. Retry later.',
  'slow-database': 'The database is slow, and too many lists wait for it. Retry later.',
} satisfies Partial<Record<Rejection, string>>
