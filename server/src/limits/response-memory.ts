import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../failure.ts'
import { requestRejected } from '../telemetry/events.ts'
import { createFairShare, SCARCE } from './fair-share.ts'

/** The client that a response is read for. */
export interface Reader {
  account: string
  /** Whether it is still connected. */
  isConnected(): boolean
}

/** The memory of responses that wait to be read, shared by all accounts. */
export interface ResponseMemory {
  /**
   * Waits until there is room for a response.
   *
   * @throws Failure `unavailable` if there is none within two seconds
   */
  room(reader: Reader): Promise<void>
  /**
   * Reads a piece of a response once there is room for it, and holds the room while reading.
   *
   * @param timeout how long to wait for room, in milliseconds; default: 2000
   * @throws Failure `unavailable` if there is none in that time
   */
  read<T>(reader: Reader, task: () => Promise<T>, timeout?: number): Promise<T>
  /**
   * Counts what a response keeps in memory: a number of bytes, or a buffer, which counts once however many responses
   * send it.
   *
   * @returns a function that releases it, to be called once
   */
  hold(account: string, content: Buffer | number): () => void
  /** How much all responses hold, in bytes. */
  used(): number
}

/**
 * What a piece may take until it is sent, in bytes: a list that could be cached and the piece that makes it too long, at
 * three bytes per character.
 */
const READ_SIZE = 6 * 2 ** 20
/** The room that a response needs to begin, in bytes. */
const EXPECTED_SIZE = 2 ** 18
/** How many reads fit even into a small memory. */
const MIN_READS = 4
/** How long to wait for room, in milliseconds. */
const TIMEOUT = 2_000
/** How long to wait before checking for room again, in milliseconds. */
const PAUSE = 10

/**
 * Creates the memory.
 *
 * @param capacity in bytes
 */
export function createResponseMemory(capacity: number): ResponseMemory {
  const share = createFairShare(capacity, SCARCE)
  const readSize = Math.min(READ_SIZE, capacity / MIN_READS)
  /** How many responses are sending each buffer. */
  const senders = new Map<Buffer, number>()

  async function waitForRoom({ account, isConnected }: Reader, bytes: number, timeout: number): Promise<void> {
    const end = performance.now() + timeout
    while (!share.hasRoom(account, bytes)) {
      if (performance.now() > end) throw overloaded()
      await sleep(PAUSE)
      if (!isConnected()) throw new Failure('unavailable', 'The client has disconnected.')
    }
  }

  function holdBytes(account: string, bytes: number): () => void {
    share.take(account, bytes)
    return () => share.release(account, bytes)
  }

  function holdBuffer(account: string, buffer: Buffer): () => void {
    const others = senders.get(buffer) ?? 0
    senders.set(buffer, others + 1)
    if (others === 0) share.take(account, buffer.length)
    return () => {
      const rest = (senders.get(buffer) ?? 0) - 1
      if (rest > 0) {
        senders.set(buffer, rest)
        return
      }
      senders.delete(buffer)
      share.release(account, buffer.length)
    }
  }

  return {
    room: (reader) => waitForRoom(reader, Math.min(EXPECTED_SIZE, readSize), TIMEOUT),

    async read(reader, task, timeout = TIMEOUT) {
      await waitForRoom(reader, readSize, timeout)
      const release = holdBytes(reader.account, readSize)
      try {
        return await task()
      } finally {
        release()
      }
    },

    hold: (account, content) =>
      typeof content === 'number' ? holdBytes(account, content) : holdBuffer(account, content),

    used: share.used,
  }
}

function overloaded(): Failure {
  requestRejected.publish('response-memory')
  return new Failure('unavailable', 'Too many responses are waiting to be read. Retry later.', {
    headers: { 'Retry-After': '1' },
  })
}
