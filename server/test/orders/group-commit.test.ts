import { type Outcome, type PlantRow, StorageError } from '@plant-store/prisma'
import fc from 'fast-check'
import { testOrders } from '../../../test/helpers/orders.ts'
import { createGroupCommit } from '../../src/plants/group-commit.ts'
import { events } from '../../src/telemetry/events.ts'

const step = fc.record({
  account: fc.constantFrom('alice', 'bob'),
  /** The same one again is a retry, or taken by other content. */
  id: fc.constantFrom('1', '2', '3', '4', '5', '6'),
  tag: fc.constantFrom(null, null, 'other'),
})
const keyOf = ({ account, id }: PlantRow) => `${account} ${id}`
/** So that a batch holds three plants, or one. */
const byteLength = (json: string) => (json.includes('other') ? 2 ** 21 : 300_000)

testOrders(
  'a plant that is confirmed was sent once, and gets its own result',
  2_000,
  step,
  (order, steps) => {
    /** The tags of the plants, by account and id. */
    const stored = new Map<string, string | null>()
    const outcomeOf = (plant: PlantRow): Outcome => (stored.get(keyOf(plant)) === plant.tag ? 'stored' : 'taken')
    const sent = new Set<string>()
    const failures = new Map<unknown, { rows: readonly PlantRow[]; next: number }>()
    let [numbers, kept] = [0, 0]
    let isCommitting = false
    /** Rejected plants that are not counted yet. */
    let uncounted = 0
    const count = (rejected: number) => {
      uncounted -= rejected
    }
    events.on('writesRejected', count)

    function insert(plant: PlantRow): Outcome {
      if (!stored.has(keyOf(plant))) stored.set(keyOf(plant), plant.tag)
      return outcomeOf(plant)
    }

    /** Stores a batch. The name of each plant is its number. */
    async function commit(rows: readonly PlantRow[]): Promise<Outcome[]> {
      order.expect(!isCommitting, 'two batches are committed together')
      isCommitting = true
      const next = numbers
      for (const { account, name } of rows) {
        order.expect(!sent.has(name), `${name} is sent twice`)
        order.expect(Number(name) >= kept, `${name} goes on waiting for what is unavailable`)
        const before = rows
          .slice(
            0,
            rows.findIndex((row) => row.name === name),
          )
          .filter((row) => row.account === account)
        order.expect(
          before.every((row) => Number(row.name) < Number(name)),
          `${name} overtakes its account`,
        )
        sent.add(name)
      }
      const fail = () => {
        const error = rows.length === 2 ? new Error('mistake') : new StorageError('unavailable')
        if (error instanceof StorageError) kept = next
        failures.set(error, { rows, next })
        isCommitting = false
        return error
      }
      const outcomes = await order.call(() => rows.map(insert), fail)
      isCommitting = false
      return outcomes
    }

    async function create(plant: PlantRow): Promise<void> {
      try {
        const outcome = await add(plant)
        order.expect(sent.has(plant.name) && outcome === outcomeOf(plant), `${plant.name} gets ${outcome}`)
      } catch (error) {
        const { rows, next } = failures.get(error) ?? { rows: [], next: 0 }
        uncounted++
        const isIn = rows.some(({ name }) => name === plant.name)
        const hasWaited = error instanceof StorageError && Number(plant.name) < next
        order.expect(isIn || hasWaited, `${plant.name} fails with others: ${error}`)
      }
    }

    let add = createGroupCommit(commit)
    order.steps(steps, (plant) => order.client(create({ ...plant, name: `${numbers++}` }), () => false))
    return async () => {
      events.off('writesRejected', count)
      order.expect(uncounted === 0, `${uncounted} rejected plants are not counted`)
      // It hangs: a new start.
      if (isCommitting) add = createGroupCommit(commit)
      isCommitting = false
      await create({ account: 'carol', id: '1', name: `${numbers++}`, tag: null })
      order.expect(stored.has('carol 1'), 'nothing is stored any more')
      order.expect(order.timers() === 0, 'a timer stays')
    }
  },
  [[Buffer, { byteLength }]],
)
