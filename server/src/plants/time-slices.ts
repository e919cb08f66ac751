import { setImmediate as nextTurn } from 'node:timers/promises'
import { createAccountQueue } from './account-queue.ts'

/** How long work of one kind may take in a turn of the event loop, in milliseconds. */
const SLICE = 5

/**
 * Work of one kind, such as reading lists, of which each turn of the event loop does a little: however much arrives
 * together, everything else, probes too, is handled meanwhile. It is measured, since what fits into a turn depends on the
 * machine.
 */
export interface TimeSlices {
  /** Returns whether work may begin immediately: none waits, and this turn has time left. Begin it before you await. */
  hasTime(): boolean
  /**
   * Waits until work may begin: that of one account after the other.
   *
   * @param isNext whether it comes before other work of its account. Default: false
   */
  wait(account: string, isNext?: boolean): Promise<void>
}

/** Creates the time slices of one kind of work. */
export function createTimeSlices(): TimeSlices {
  const waiting = createAccountQueue<{ account: string; begin(): void }>()
  let isRunning = false
  /** When the work of this turn that has not waited has to end; undefined: there is none yet. */
  let end: number | undefined

  async function beginAll(): Promise<void> {
    while (waiting.first()) {
      await nextTurn()
      const deadline = performance.now() + SLICE
      do {
        waiting.take()?.begin()
        // By the next tick, it has done what it does before it first waits.
        await new Promise<void>((resolve) => process.nextTick(resolve))
      } while (waiting.first() && performance.now() < deadline)
    }
    isRunning = false
  }

  return {
    hasTime() {
      if (isRunning) return false
      const now = performance.now()
      if (end === undefined) {
        end = now + SLICE
        setImmediate(() => {
          end = undefined
        })
      }
      return now < end
    },
    wait: (account, isNext) =>
      new Promise((begin) => {
        waiting.add({ account, begin }, isNext)
        if (isRunning) return
        isRunning = true
        void beginAll()
      }),
  }
}
