import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Outcome, type PlantRow, type Plants, StorageError } from '@plant-store/prisma'
import { events } from '../telemetry/events.ts'

/** A batch of the longest plants is committed in some 20 ms, for which the plants of other accounts wait. */
const MAX_BATCH_PLANTS = 500
/** As JSON. A plant that is longer is a batch of its own. */
const MAX_BATCH_BYTES = 2 ** 20
/** How long a batch waits for more plants, at most, in milliseconds. */
const MAX_PAUSE = 4
/** How long it waits, as a part of the time that the last commit took. */
const PAUSE = 1 / 8
/** A batch collects more as long as a turn of the event loop makes it more than so many times as large. */
const GROWTH = 9 / 8

interface Waiter extends PlantRow, Omit<PromiseWithResolvers<Outcome>, 'promise'> {
  bytes: number
}

/**
 * Creates a group commit. A commit costs a sync of the disk however many plants it holds, so plants share one:
 *
 * - *idle*: no plant waits. One that is added begins to collect
 * - *collecting*: turns of the event loop add plants, since clients that got their results together send their next plants
 *   within a few. Once one adds no more than an eighth, a batch is taken: from each waiting account one after the other,
 *   so that none waits for all that another one sends
 * - *committing*: plants that are added wait for the next batch. A `StorageError` fails the batch, and the plants that
 *   waited already but had no room in it
 * - *pausing*, if plants wait after a commit of 8 ms or more: for an eighth of that time, at most 4 ms. Those who got
 *   their results come back with the next plant; otherwise two halves would alternate, and a slow disk would store half as
 *   much. Then it collects. If no plant waits after a commit, it is idle
 *
 * @param create stores a batch in one transaction and returns what became of each plant, in order. An error fails this
 *   batch; a `StorageError` also the plants that waited already
 * @returns a function that adds a plant to the next commit, and resolves with what became of it once that is on disk
 */
export function createGroupCommit(create: Plants['create']): (plant: PlantRow) => Promise<Outcome> {
  /** In the order in which they were added, but for those that the last batch has left: they come first. */
  let waiting: Waiter[] = []
  let isIdle = true

  async function commitAll(): Promise<void> {
    assert(isIdle, 'one batch is committed after the other')
    let pause = 0
    isIdle = false
    while (waiting.length > 0) {
      // A timer waits at least a millisecond.
      if (pause >= 1) await new Promise((resolve) => setTimeout(resolve, pause))
      for (let size = 0; waiting.length > size * GROWTH; ) {
        size = waiting.length
        await nextTurn()
      }
      const beganAt = performance.now()
      const sorted = interleaveAccounts(waiting)
      const batch = sorted.slice(0, countFitting(sorted))
      assert(batch.length > 0, 'a batch has a plant, however long')
      waiting = sorted.slice(batch.length)
      await commitBatch(batch)
      pause = Math.min((performance.now() - beganAt) * PAUSE, MAX_PAUSE)
    }
    isIdle = true
  }

  async function commitBatch(batch: readonly Waiter[]): Promise<void> {
    const left = waiting.length
    try {
      const outcomes = await create(batch)
      // One that is missing would give every plant after it the result of another.
      assert(outcomes.length === batch.length, `${outcomes.length} results for ${batch.length} plants`)
      events.emit('batchCommitted', batch.length)
      for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index] as Outcome)
    } catch (error) {
      // What has waited for an unavailable database as long as this batch would go on waiting,
      // one batch after the other.
      const others = error instanceof StorageError ? waiting.splice(0, left) : []
      events.emit('writesRejected', batch.length + others.length, error)
      for (const { reject } of [...batch, ...others]) reject(error)
    }
  }

  return (plant) =>
    new Promise((resolve, reject) => {
      const bytes = Buffer.byteLength(JSON.stringify(plant))
      waiting.push({ ...plant, bytes, resolve, reject })
      if (isIdle) void commitAll()
    })
}

/** Sorts plants fairly: the first one of each account, then the second one of each, and so on. */
function interleaveAccounts(plants: readonly Waiter[]): Waiter[] {
  const counts = new Map<string, number>()
  const numbered = plants.map((plant) => {
    const number = counts.get(plant.account) ?? 0
    counts.set(plant.account, number + 1)
    return { plant, number }
  })
  return numbered.sort((one, other) => one.number - other.number).map(({ plant }) => plant)
}

/** Returns how many plants, from the first one on, fit into a batch. */
function countFitting(plants: readonly Waiter[]): number {
  let [count, bytes] = [0, 0]
  for (const plant of plants) {
    bytes += plant.bytes
    if (count === MAX_BATCH_PLANTS || (count > 0 && bytes > MAX_BATCH_BYTES)) break
    count++
  }
  return count
}
