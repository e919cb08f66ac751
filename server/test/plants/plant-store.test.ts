import { setImmediate as nextTurn } from 'node:timers/promises'
import type { plantFields } from '@plant-store/contract'
import type { Outcome, Plants } from '@plant-store/prisma'
import { expect, onTestFinished, test, vi } from 'vitest'
import type * as z from 'zod'
import type { Cursors } from '../../src/plants/cursor.ts'
import { createGroupCommit } from '../../src/plants/group-commit.ts'
import { createPlantStore } from '../../src/plants/plant-store.ts'
import type { Body, Handler } from '../../src/requests/router.ts'

/** Creates a plant store of which nothing else is called. */
const createStore = (plants: Partial<Plants>) => createPlantStore(plants as Plants, {} as Cursors)
const plant = (id: number, name = 'Ficus') => ({ id: BigInt(id), name })

test('a plant that was deleted while it was created is a 503 that can be retried, and fails no other', async () => {
  const store = createStore({ create: async (rows) => rows.map(({ id }) => (id === '1' ? 'deleted' : 'stored')) })
  const create = (id: number) => store.createPlant(plant(id), 'alice', [])
  const reason = expect.objectContaining({ errorName: 'unavailable', headers: { 'Retry-After': '1' } })
  expect(await Promise.allSettled([1, 2].map(create))).toEqual([
    { status: 'rejected', reason },
    { status: 'fulfilled', value: { body: { name: 'Ficus' }, unused: {} } },
  ])
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

/** Creates a group commit, and the names of the plants in its batches. Those that are not `A` or `B` are taken. */
function create(commit = async (names: string[]) => names.map(outcomeOf)) {
  const batches: string[][] = []
  const addPlant = createGroupCommit((plants) => {
    const names = plants.map(({ name }) => name)
    batches.push(names)
    return commit(names)
  })
  const add = (name: string, account = 'alice') => addPlant({ account, id: '1', name, tag: null })
  return { add, batches }
}

const outcomeOf = (name: string): Outcome => (/^[AB]$/.test(name) ? 'stored' : 'taken')

test('plants added during a commit share the next one; after a long one, a plant that follows its result joins them', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let second: Promise<unknown> | undefined
  const { add, batches } = create(async (names) => {
    second ??= add('B')
    vi.advanceTimersByTime(16)
    return names.map(outcomeOf)
  })
  await add('A')
  await expect.poll(() => vi.getTimerCount()).toBe(1)
  // The next batch does not begin meanwhile.
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  const third = add('C')
  // An eighth of that.
  for (const pauses of [1, 0]) {
    vi.advanceTimersByTime(1)
    expect(vi.getTimerCount()).toBe(pauses)
  }
  await Promise.all([second, third])
  expect(batches).toEqual([['A'], ['B', 'C']])
})

test('a commit that returns too few results fails each of its plants', async () => {
  const { add } = create(async () => ['stored'])
  const plants = Array.from({ length: 2 }, () => add('A'))
  for (const plant of plants) await expect(plant).rejects.toThrow('1 results for 2 plants')
})

/** Half a batch as JSON, exactly. */
const half = 'x'.repeat(2 ** 19 - JSON.stringify({ account: 'alice', id: '1', name: '', tag: null }).length)
/** Longer as JSON. */
const escaped = '\u0001'.repeat(30_000)
test.each<[string, string[][]]>([
  ['nothing else', [['A', 'c', 'B']]],
  ['plants', [Array(500).fill('A'), Array(500).fill('c'), ['B']]],
  ['bytes, but for one larger plant', [[half, half], [half], [half.repeat(3)], ['A']]],
  ['bytes of JSON', [Array(5).fill(escaped), Array(2).fill(escaped)]],
])('plants of one turn share a commit, limited in %s, and each gets its own result', async (_, expected) => {
  const { add, batches } = create()
  const names = expected.flat()
  expect(await Promise.all(names.map((name) => add(name)))).toEqual(names.map(outcomeOf))
  expect(batches).toEqual(expected)
})

test('a batch waits while each turn brings many more plants, but not for one after the other', async () => {
  const { add, batches } = create()
  const added: Promise<unknown>[] = []
  for (const count of [1, 2, 4, 8, ...Array<number>(10).fill(1)]) {
    // Begun before the wait of the batch, it ends before that.
    const turn = nextTurn()
    for (let index = 0; index < count; index++) added.push(add('A'))
    await turn
  }
  await Promise.all(added)
  expect(batches[0]).toHaveLength(16)
})

test('a batch takes from each account in turn, whatever one of them has added before', async () => {
  const { add, batches } = create()
  const alice = Array.from({ length: 600 }, (_, index) => `a${index}`)
  await Promise.all([...alice, 'b0', 'b1', 'c0'].map((name) => add(name, name.slice(0, 1))))
  expect(batches[0]?.slice(0, 6)).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'a2'])
})
