import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** How long reads of one kind may take in a turn of the event loop, in milliseconds. */
const SLICE = 5

/** Reads something of an account. */
type Read<Range, Result> = (account: string, range: Range) => Promise<Result>

/** A read that waits. */
interface WaitingRead<Range, Result> extends Omit<PromiseWithResolvers<Result>, 'reject'> {
  readonly range: Range
}

/**
 * Divides reads into time slices, one in each turn of the event loop: however many are asked for together, everything else,
 * probes too, is handled meanwhile. A slice begins one read of each account after the other, for a time, since how many fit
 * into it depends on the machine.
 *
 * A read runs once for all who ask for it before it begins, so each of them sees what was committed before.
 */
export function inTimeSlices<Range, Result>(read: Read<Range, Result>): Read<Range, Result> {
  /** By account and range. Undefined: none waits. It is not used again, for the reason in places.ts. */
  let waiting: Map<string, Map<string, WaitingRead<Range, Result>>> | undefined

  async function beginAll(): Promise<void> {
    while (waiting?.size) {
      await nextTurn()
      const end = performance.now() + SLICE
      // It also visits an account that has more, which is added again after the others.
      for (const [account, reads] of waiting) {
        const [next] = reads
        assert(next, 'an account waits only with a read')
        const [name, { range, resolve }] = next
        reads.delete(name)
        waiting.delete(account)
        if (reads.size > 0) waiting.set(account, reads)
        resolve(read(account, range))
        // By then, what was read is written to those who asked, which takes time, too.
        await new Promise<void>((proceed) => process.nextTick(proceed))
        if (performance.now() >= end) break
      }
    }
    waiting = undefined
  }

  return (account, range) => {
    const isFirst = waiting === undefined
    waiting ??= new Map()
    const reads = waiting.get(account) ?? new Map<string, WaitingRead<Range, Result>>()
    waiting.set(account, reads)
    const name = JSON.stringify(range)
    const known = reads.get(name)
    if (known) return known.promise
    const { promise, resolve } = Promise.withResolvers<Result>()
    reads.set(name, { range, promise, resolve })
    if (isFirst) void beginAll()
    return promise
  }
}
