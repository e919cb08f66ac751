import { setImmediate as nextTurn } from 'node:timers/promises'
import { StorageError } from '@plant-store/prisma'
import { createAccountQueue } from '../requests/turns.ts'
import { events } from '../telemetry/events.ts'

/** How to commit, and how much at a time. */
export interface GroupCommitOptions<Item, Result> {
  /**
   * Writes a batch in one transaction and returns a result for each item, in order. An error fails this batch; a
   * `StorageError` also the items that were added before the commit began.
   */
  commit(items: Item[]): Promise<Result[]>
  /** Returns the size of an item, in bytes. */
  weigh(item: Item): number
  /** The size of a batch, in bytes. A larger item is a batch of its own. */
  maxBatchBytes: number
  maxBatchItems: number
}

/** How long a batch waits for more items, at most, in milliseconds. */
const MAX_PAUSE = 4
/** How long it waits, as a part of the time that the last commit took. */
const PAUSE = 1 / 8
/** A batch collects more as long as a turn of the event loop makes it more than so many times as large. */
const GROWTH = 9 / 8

interface Waiter<Item, Result> {
  account: string
  item: Item
  bytes: number
  /** When it was added, by `performance.now()`. */
  addedAt: number
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Creates a group commit. A commit costs a sync of the disk however many rows it holds, so the items added during the
 * commit before share one, with those that the next turns of the event loop bring while these bring many: clients that
 * got their results together send their next items within a few turns.
 *
 * Where a commit takes long, the next one waits a little for those who get their results and come back
 * with the next item. Without that pause, two halves would take turns, and a slow disk would store half as
 * much. An item that comes alone, with no commit before it, waits for one turn of the event loop.
 *
 * A batch takes from each waiting account in turn, so that none waits for all that another one sends.
 *
 * @returns a function that adds an item to the next commit, and resolves with its result once it is on disk
 */
export function createGroupCommit<Item extends { readonly account: string }, Result>(
  options: GroupCommitOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  const waiting = createAccountQueue<Waiter<Item, Result>>()
  let running = false

  async function run(): Promise<void> {
    let pause = 0
    while (waiting.size() > 0) {
      // A timer waits at least a millisecond.
      if (pause >= 1) await new Promise((resolve) => setTimeout(resolve, pause))
      for (let size = 0; waiting.size() > size * GROWTH; ) {
        size = waiting.size()
        await nextTurn()
      }
      const beganAt = performance.now()
      await commitBatch(takeBatch(), beganAt)
      pause = Math.min((performance.now() - beganAt) * PAUSE, MAX_PAUSE)
    }
    running = false
  }

  function takeBatch(): Waiter<Item, Result>[] {
    const batch: Waiter<Item, Result>[] = []
    let bytes = 0
    for (let next = waiting.first(); next && batch.length < options.maxBatchItems; next = waiting.first()) {
      bytes += next.bytes
      if (batch.length > 0 && bytes > options.maxBatchBytes) break
      waiting.take()
      batch.push(next)
    }
    return batch
  }

  async function commitBatch(batch: Waiter<Item, Result>[], beganAt: number): Promise<void> {
    try {
      const results = await options.commit(batch.map(({ item }) => item))
      // One that is missing would give every item after it the result of another.
      if (results.length !== batch.length) throw new Error(`${results.length} results for ${batch.length} items`)
      events.emit('batchCommitted', batch.length)
      batch.forEach(({ resolve }, index) => {
        resolve(results[index] as Result)
      })
    } catch (error) {
      // What has waited for an unavailable database as long as this batch would go on waiting,
      // one batch after the other.
      const others = error instanceof StorageError ? waiting.remove(({ addedAt }) => addedAt <= beganAt) : []
      events.emit('writesRejected', batch.length + others.length, error)
      for (const { reject } of [...batch, ...others]) reject(error)
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      const { account } = item
      waiting.add({ account, item, bytes: options.weigh(item), addedAt: performance.now(), resolve, reject })
      if (running) return
      running = true
      void run()
    })
}
