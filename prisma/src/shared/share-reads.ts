import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Makes the reads of a key that are requested in one turn of the event loop share one. It begins after the last of them, so
 * it sees what was committed before any was requested; and one that gets no response keeps only those of its turn waiting.
 */
export function shareReads<Result>(read: (key: string) => Promise<Result>): (key: string) => Promise<Result> {
  const pending = new Map<string, Promise<Result>>()

  async function readAfterTurn(key: string): Promise<Result> {
    await nextTurn()
    pending.delete(key)
    return read(key)
  }

  return (key) => {
    const shared = pending.get(key) ?? readAfterTurn(key)
    pending.set(key, shared)
    return shared
  }
}
