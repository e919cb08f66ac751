import { setImmediate as nextTurn } from 'node:timers/promises'
import type { plantFields } from '@plant-store/contract'
import { type Plants, StorageError } from '@plant-store/prisma'
import { expect, onTestFinished, test, vi } from 'vitest'
import type * as z from 'zod'
import type { Cursors } from '../../src/plants/cursor.ts'
import { createGroupCommit, type GroupCommitOptions } from '../../src/plants/group-commit.ts'
import { createPlantStore } from '../../src/plants/plant-store.ts'
import type { Body, Handler } from '../../src/requests/router.ts'
import { type Events, events } from '../../src/telemetry/events.ts'

/** Creates a plant store of which nothing else is called. */
const createStore = (plants: Partial<Plants>) => createPlantStore(plants as Plants, {} as Cursors)
const plant = (id: number, name = 'Ficus') => ({ id: BigInt(id), name })

test('a plant that is deleted before it can be compared is stored again, three times at most', async () => {
  let inserts = 0
  let missing = 2
  const store = createStore({
    async insert() {
      inserts++
      return 0
    },
    compare: async (rows) => rows.map(({ id }) => (id === '1' && missing-- > 0 ? undefined : true)),
  })
  const create = () => Promise.allSettled([1, 2].map((id) => store.createPlant(plant(id), 'alice')))
  const stored = { status: 'fulfilled', value: { body: { name: 'Ficus' }, unused: {} } }
  expect(await create()).toEqual([stored, stored])
  expect(inserts).toBe(3)
  missing = 3
  const reason = expect.objectContaining({ errorName: 'unavailable', headers: { 'Retry-After': '1' } })
  expect(await create()).toEqual([{ status: 'rejected', reason }, stored])
})

test('a result too few fails the batch, rather than give a plant the result of another', async () => {
  const store = createStore({ insert: async () => 0, compare: async (rows) => rows.slice(1).map(() => true) })
  const outcomes = await Promise.allSettled([1, 2].map((id) => store.createPlant(plant(id), 'alice')))
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && String(outcome.reason))).toEqual(
    Array(2).fill('Error: 1 results for 2 items'),
  )
})

test.each(['"', '\\', '\u0001'])('plants long as JSON, with %j, are committed in small batches', async (character) => {
  const batches: number[] = []
  const store = createStore({
    async insert({ length }) {
      batches.push(length)
      return length
    },
  })
  // 180 kB of JSON each.
  const name = character.repeat(180_000 / (JSON.stringify(character).length - 2))
  await Promise.all(Array.from({ length: 12 }, (_, id) => store.createPlant(plant(id, name), `${id}`)))
  expect(batches).toEqual([5, 5, 2])
})

/** A parameter that an operation does not use does not compile. */
const forget = async ({ limit: _, ...unused }: { limit?: number; tag?: string }) => ({ body: null, unused })
// @ts-expect-error: `tag` is left.
export const forgetful: Handler<{ limit?: number; tag?: string }, null> = forget

/** The response of an operation that returns ids. */
type IdBody = Body<{ method: 'GET'; path: '/ids'; responses: { 200: z.ZodObject<Pick<typeof plantFields, 'id'>> } }>
export const exact: IdBody = { id: 2n ** 53n + 1n }
// @ts-expect-error: a number may have been rounded.
export const rounded: IdBody = { id: 2 ** 53 }

interface Item {
  account: string
  text: string
}
type Options = Partial<GroupCommitOptions<Item, string>>

/**
 * Creates a group commit of texts, and the batches that it commits. The result of an item is its text in upper case.
 */
function create(options: Options = {}) {
  const batches: string[][] = []
  const addItem = createGroupCommit<Item, string>({
    maxBatchBytes: Number.POSITIVE_INFINITY,
    maxBatchItems: Number.POSITIVE_INFINITY,
    weigh: ({ text }) => text.length,
    commit: async (items) => {
      batches.push(items.map(({ text }) => text))
      return items.map(({ text }) => text.toUpperCase())
    },
    ...options,
  })
  const add = (text: string, account = 'alice') => addItem({ account, text })
  return { add, batches }
}

/** Returns the messages of an event from now until the end of the test. */
function collect(event: keyof Events): unknown[][] {
  const messages: unknown[][] = []
  const listener = (...message: unknown[]) => void messages.push(message)
  events.on(event, listener)
  onTestFinished(() => void events.off(event, listener))
  return messages
}

test('items added during a commit share the next one; after a long one, an item that follows its result joins them', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const batches: string[][] = []
  let second: Promise<string> | undefined
  const { add } = create({
    commit: async (items) => {
      const texts = items.map(({ text }) => text)
      batches.push(texts)
      second ??= add('b')
      vi.advanceTimersByTime(16)
      return texts
    },
  })
  await add('a')
  await expect.poll(() => vi.getTimerCount()).toBe(1)
  const third = add('c')
  // An eighth of that.
  for (const pauses of [1, 0]) {
    vi.advanceTimersByTime(1)
    expect(vi.getTimerCount()).toBe(pauses)
  }
  expect(await Promise.all([second, third])).toEqual(['b', 'c'])
  expect(batches).toEqual([['a'], ['b', 'c']])
})

test.each<[string, Options, string[][]]>([
  ['nothing else', {}, [['a', 'b', 'c']]],
  ['items', { maxBatchItems: 2 }, [['a', 'b'], ['c', 'd'], ['e']]],
  ['bytes, but for one larger item', { maxBatchBytes: 4 }, [['aa', 'bb'], ['c'], ['ddddd'], ['e']]],
])('items of one turn share a commit, limited in %s, and each gets its own result', async (_, options, expected) => {
  const sizes = collect('batchCommitted')
  const { add, batches } = create(options)
  const items = expected.flat()
  expect(await Promise.all(items.map((item) => add(item)))).toEqual(items.map((item) => item.toUpperCase()))
  expect(batches).toEqual(expected)
  expect(sizes).toEqual(expected.map((batch) => [batch.length]))
})

test('a batch waits while each turn brings many more items, but not for one after the other', async () => {
  const { add, batches } = create()
  const added: Promise<string>[] = []
  for (const count of [1, 2, 4, 8, ...Array<number>(10).fill(1)]) {
    // Begun before the wait of the batch, it ends before that.
    const turn = nextTurn()
    for (let index = 0; index < count; index++) added.push(add('a'))
    await turn
  }
  await Promise.all(added)
  expect(batches[0]).toHaveLength(16)
})

test('a batch takes from each account in turn, whatever one of them has added before', async () => {
  const { add, batches } = create({ maxBatchItems: 3 })
  const added = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1'].map((text) => add(text, text.slice(0, 1)))
  expect(await Promise.all(added)).toEqual(['A1', 'A2', 'A3', 'A4', 'A5', 'B1', 'B2', 'C1'])
  expect(batches).toEqual([
    ['a1', 'b1', 'c1'],
    ['a2', 'b2', 'a3'],
    ['a4', 'a5'],
  ])
})

const mistake = new Error('a mistake')
const locked = new StorageError('locked')
test.each([
  ['a mistake fails its own batch', mistake, [mistake, mistake, 'C', 'D', 'E']],
  ['an unavailable database fails what has waited as long', locked, Array(5).fill(locked)],
])('%s, and nothing that came later', async (_what, error, expected) => {
  const failed = collect('writesRejected')
  const later: Promise<string>[] = []
  const { add } = create({
    maxBatchItems: 2,
    commit: async (items) => {
      if (later.length > 0) return items.map(({ text }) => text.toUpperCase())
      later.push(add('later', 'bob'))
      throw error
    },
  })
  const results = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((item) => add(item).catch((reason) => reason)))
  expect(results).toEqual(expected)
  expect(await Promise.all(later)).toEqual(['LATER'])
  expect(failed).toEqual([[expected.filter((result) => result === error).length, error]])
})
