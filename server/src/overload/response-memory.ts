import { Failure } from '../http/failure.ts'
import { requestRejected } from '../telemetry/events.ts'
import { createFairShare } from './fair-share.ts'

/** The memory of responses that wait to be written, shared by all accounts. */
export interface ResponseMemory {
  /** Whether another response of this account, or another piece of one, may be read. */
  hasRoom(account: string): boolean
  /**
   * Checks that there is room.
   *
   * @throws Failure `unavailable` where too much waits, of this account or in all
   */
  check(account: string): void
  /**
   * Counts what a response keeps in memory: so many bytes, or a buffer. The same buffer counts once, however many
   * responses send it.
   *
   * @returns a function that ends it, to be called once
   */
  hold(account: string, content: Buffer | number): () => void
}

/** What a response is assumed to take before its size is known, in bytes. */
const EXPECTED_SIZE = 2 ** 18

/** Makes a memory of so many bytes. */
export function createResponseMemory(capacity: number): ResponseMemory {
  const share = createFairShare(capacity)
  /** How many responses send each buffer. */
  const senders = new Map<Buffer, number>()

  function hasRoom(account: string): boolean {
    return share.hasRoom(account, EXPECTED_SIZE)
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
    hasRoom,
    check(account) {
      if (hasRoom(account)) return
      requestRejected.publish('response-memory')
      throw new Failure('unavailable', 'Too many responses are waiting to be read. Retry later.', {
        headers: { 'Retry-After': '1' },
      })
    },
    hold: (account, content) =>
      typeof content === 'number' ? holdBytes(account, content) : holdBuffer(account, content),
  }
}
