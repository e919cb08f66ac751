import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** How long reads of one kind may take in a turn of the event loop, in milliseconds. */
const SLICE = 5

/** Reads something of an account. */
type Read<Range, Result> = (account: string, range: Range) => Promise<Result>

/** A read that waits. */
interface WaitingRead<Result> {
  begin(): void
  readonly result: Promise<Result>
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
  let waiting: Map<string, Map<string, WaitingRead<Result>>> | undefined

  async function beginAll(): Promise<void> {
    while (waiting?.size) {
      await nextTurn()
      const end = performance.now() + SLICE
      // It also visits an account that has more, which is added again after the others.
      for (const [account, reads] of waiting) {
        const [next] = reads.values()
        assert(next, 'an account waits only with a read')
        next.begin()
        waiting.delete(account)
        if (reads.size > 0) waiting.set(account, reads)
        // By then, what was read is written to those who asked, which takes time, too.
        await new Promise<void>((resolve) => process.nextTick(resolve))
        if (performance.now() >= end) break
      }
    }
    waiting = undefined
  }

  return (account, range) => {
    const isFirst = waiting === undefined
    waiting ??= new Map()
    const reads = waiting.get(account) ?? new Map<string, WaitingRead<Result>>()
    waiting.set(account, reads)
    const name = JSON.stringify(range)
    const known = reads.get(name)
    if (known) return known.result
    const { promise: result, resolve } = Promise.withResolvers<Result>()
    const begin = () => {
      reads.delete(name)
      resolve(read(account, range))
    }
    reads.set(name, { result, begin })
    if (isFirst) void beginAll()
    return result
  }
}
