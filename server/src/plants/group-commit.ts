import { setImmediate as nextTurn } from 'node:timers/promises'
import { Failure } from '../failure.ts'
import { batchCommitted, requestRejected } from '../telemetry/events.ts'

/**
 * Writes what many callers wait for in one transaction.
 *
 * A commit costs a sync of the disk however many rows it holds, so the writers that came in during one turn of the
 * event loop, and those that came while the commit before was under way, share one. Each waits for the commit that
 * holds its own item and gets its own result; nobody waits for a timer, so a lone writer is as fast as without.
 */
export interface GroupCommitOptions<Item, Result> {
  /** Writes a batch in one transaction and gives a result for each item, in order. What it throws fails this batch. */
  commit(items: Item[]): Promise<Result[]>
  /** The weight of an item, in bytes. */
  weigh(item: Item): number
  /** A batch ends before its items weigh more than this, in bytes; it has one item at least. */
  maximumBatchBytes: number
  /** A batch has this many items at most. */
  maximumBatchItems: number
  /** Beyond this many waiting items, or... */
  maximumWaitingItems: number
  /** ...this weight of them, in bytes, the next is refused with 503 at once. */
  maximumWaitingBytes: number
}

interface Waiter<Item, Result> {
  item: Item
  bytes: number
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Commits items in batches. */
export interface GroupCommit<Item, Result> {
  /**
   * Hands an item to the next commit and resolves with its result once it is on disk.
   *
   * @throws Failure `unavailable` where too many wait
   */
  add(item: Item): Promise<Result>
  /** How many items wait. */
  waiting(): number
}

/** Makes a group commit. */
export function createGroupCommit<Item, Result>(options: GroupCommitOptions<Item, Result>): GroupCommit<Item, Result> {
  const waiting: Waiter<Item, Result>[] = []
  let waitingBytes = 0
  let running = false

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      // A turn of the event loop lets every request that has arrived join the batch.
      await nextTurn()
      await commitBatch(takeBatch())
    }
    running = false
  }

  function takeBatch(): Waiter<Item, Result>[] {
    let bytes = 0
    let count = 0
    for (const waiter of waiting) {
      if (count === options.maximumBatchItems) break
      if (count > 0 && bytes + waiter.bytes > options.maximumBatchBytes) break
      bytes += waiter.bytes
      count++
    }
    waitingBytes -= bytes
    return waiting.splice(0, count)
  }

  async function commitBatch(batch: Waiter<Item, Result>[]): Promise<void> {
    try {
      const results = await options.commit(batch.map(({ item }) => item))
      batchCommitted.publish(batch.length)
      batch.forEach(({ resolve }, index) => {
        resolve(results[index] as Result)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  function add(item: Item): Promise<Result> {
    const bytes = options.weigh(item)
    const full = waiting.length >= options.maximumWaitingItems || waitingBytes + bytes > options.maximumWaitingBytes
    if (full && waiting.length > 0) {
      requestRejected.publish('write-queue')
      throw new Failure('unavailable', 'Too many writes are waiting. Send the request again.', {
        headers: { 'Retry-After': '1' },
      })
    }
    return new Promise((resolve, reject) => {
      waiting.push({ item, bytes, resolve, reject })
      waitingBytes += bytes
      if (running) return
      running = true
      void run()
    })
  }
  return { add, waiting: () => waiting.length }
}
