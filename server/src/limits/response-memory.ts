import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../failure.ts'
import { requestRejected } from '../telemetry/events.ts'
import { createFairShare, SCARCE } from './fair-share.ts'

/** Who reads from the database for a response. */
export interface Reader {
  account: string
  /** Whether the client is still there. */
  isWanted(): boolean
}

/** The memory of responses that wait to be written, shared by all accounts. */
export interface ResponseMemory {
  /**
   * Waits until there is room for a response of this account.
   *
   * @throws Failure `unavailable` where too much waits, of this account or in all, for two seconds
   */
  room(reader: Reader): Promise<void>
  /**
   * Reads a piece of a response once there is room for it, which it takes while it is read.
   *
   * @param patience how long to wait for room, in milliseconds; default: 2000
   * @throws Failure `unavailable` where there is none
   */
  read<T>(reader: Reader, task: () => Promise<T>, patience?: number): Promise<T>
  /**
   * Counts what a response keeps in memory: so many bytes, or a buffer. The same buffer counts once, however many
   * responses send it.
   *
   * @returns a function that ends it, to be called once
   */
  hold(account: string, content: Buffer | number): () => void
}

/**
 * What a piece may take until it is sent, in bytes: a list that could be cached and the piece that makes it too long, three
 * bytes a character.
 */
const READ_SIZE = 6 * 2 ** 20
/** How much room a response needs to begin, in bytes. */
const EXPECTED_SIZE = 2 ** 18
/** Small memories have room for so many readings all the same. */
const READINGS = 4
/** How long to wait for room, in milliseconds. */
const PATIENCE = 2_000
/** How long to wait before looking for room again, in milliseconds. */
const PAUSE = 10

/** Makes a memory of so many bytes. */
export function createResponseMemory(capacity: number): ResponseMemory {
  const share = createFairShare(capacity, SCARCE)
  const readSize = Math.min(READ_SIZE, capacity / READINGS)
  /** How many responses send each buffer. */
  const senders = new Map<Buffer, number>()

  async function waitForRoom({ account, isWanted }: Reader, bytes: number, patience: number): Promise<void> {
    const end = performance.now() + patience
    while (!share.hasRoom(account, bytes)) {
      if (performance.now() > end) throw overloaded()
      await sleep(PAUSE)
      if (!isWanted()) throw new Failure('unavailable', 'The client has disconnected.')
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
    room: (reader) => waitForRoom(reader, Math.min(EXPECTED_SIZE, readSize), PATIENCE),

    async read(reader, task, patience = PATIENCE) {
      await waitForRoom(reader, readSize, patience)
      const release = holdBytes(reader.account, readSize)
      try {
        return await task()
      } finally {
        release()
      }
    },

    hold: (account, content) =>
      typeof content === 'number' ? holdBytes(account, content) : holdBuffer(account, content),
  }
}

function overloaded(): Failure {
  requestRejected.publish('response-memory')
  return new Failure('unavailable', 'Too many responses are waiting to be read. Retry later.', {
    headers: { 'Retry-After': '1' },
  })
}
