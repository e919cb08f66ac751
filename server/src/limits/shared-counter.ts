import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RequestCounts } from '@plant-store/prisma'

/** Counts a request under a key. */
export type Counter = (key: string) => Promise<Counted>

/** A key's requests, up to and including this one. */
interface Counted {
  readonly count: number
  /** When the key's window ends, in milliseconds from now. */
  readonly endsIn: number
}

/** What a shared counter works with. */
export interface SharedCounterOptions {
  /** The counts that all servers share. */
  counts: RequestCounts
  /** The length of a window, in milliseconds. */
  window: number
  /** Counts in this process while the database does not. */
  countAlone: Counter
  /** How long a request waits for the shared count, in milliseconds. Default: 2000. */
  patience?: number
  /** How long this process counts alone after a failure, in milliseconds. Default: 1000. */
  pause?: number
}

interface Waiter {
  readonly key: string
  resolve(counted: Counted | Promise<Counted>): void
}

/**
 * Creates a counter that all servers of a database share. The requests that arrive during one turn of the event loop, and
 * those that arrive while the statement before runs, are counted by one statement. While the database does not respond,
 * each process counts for itself, so that no request fails or waits long because of its limit.
 */
export function createSharedCounter({
  counts,
  window,
  countAlone,
  patience = 2_000,
  pause = 1_000,
}: SharedCounterOptions): Counter {
  const waiting: Waiter[] = []
  let running = false
  let aloneUntil = 0

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      // Every request that has arrived by now is counted with them.
      await nextTurn()
      await countTogether(take())
    }
    running = false
  }

  /** Takes the waiting requests. */
  function take(): Waiter[] {
    return waiting.splice(0)
  }

  async function countTogether(batch: Waiter[]): Promise<void> {
    let ended = false
    const giveUp = () => {
      aloneUntil = Number.POSITIVE_INFINITY
      for (const { key, resolve } of [...batch.splice(0), ...take()]) resolve(countAlone(key))
    }
    // A response that arrived while the event loop was blocked is read first.
    const timeout = setTimeout(() => void nextTurn().then(() => ended || giveUp()), patience)
    try {
      const waiters = groupByKey(batch)
      const requests = new Map([...waiters].map(([key, group]) => [key, group.length]))
      for (const { key, count, endsIn } of await counts.add(requests, window)) {
        const group = waiters.get(key) ?? []
        // Those that have given up meanwhile keep their own count.
        group.forEach(({ resolve }, index) => {
          resolve({ count: count - group.length + index + 1, endsIn })
        })
      }
      aloneUntil = 0
    } catch {
      giveUp()
      aloneUntil = performance.now() + pause
    } finally {
      ended = true
      clearTimeout(timeout)
    }
  }

  return (key) => {
    if (performance.now() < aloneUntil) return countAlone(key)
    return new Promise((resolve) => {
      waiting.push({ key, resolve })
      if (running) return
      running = true
      void run()
    })
  }
}

function groupByKey(waiters: readonly Waiter[]): Map<string, Waiter[]> {
  const groups = new Map<string, Waiter[]>()
  for (const waiter of waiters) {
    const group = groups.get(waiter.key)
    if (group) group.push(waiter)
    else groups.set(waiter.key, [waiter])
  }
  return groups
}
