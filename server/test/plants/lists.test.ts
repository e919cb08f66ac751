/** What lists read, and when. server/test/orders/lists.test.ts shows that they are right in any order of events. */
import { openDatabase } from '@plant-store/prisma'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newDatabase, runSql } from '../../../test/helpers/database/databases.ts'
import { createLists } from '../../src/plants/lists.ts'

type Selection = Parameters<ReturnType<typeof createLists>>[1]

/** Creates the lists of a server, whose reads of its database are counted. */
async function createServer() {
  const url = await newDatabase()
  const { plants, close } = await openDatabase(url)
  onTestFinished(close)
  const [states, read] = [vi.spyOn(plants, 'states'), vi.spyOn(plants, 'read')]
  const readList = createLists(plants)
  /** Lists the names of plants as a client gets them. */
  async function list(account: string, selection?: Selection, known?: readonly string[]): Promise<string[]> {
    const { json } = await readList(account, selection, known)
    let text = Buffer.isBuffer(json) ? json.toString() : ''
    for (let next = Buffer.isBuffer(json) ? undefined : json; next; ) {
      const piece = await next()
      text += piece.json
      next = piece.next
    }
    return (JSON.parse(text) as { name: string }[]).map(({ name }) => name)
  }

  let ids = 0
  return {
    plants,
    readList,
    list,
    forgetVersions: () => runSql(url, 'DELETE FROM "ListVersion"'),
    store: (account: string, ...names: string[]) =>
      plants.create(names.map((name) => ({ account, id: `${ids++}`, name, tag: null }))),
    /** How many statements there were. */
    counts: () => ({ states: states.mock.calls.length, reads: read.mock.calls.length }),
    /** Returns how many reads a list takes. */
    async readsOf(account: string): Promise<number> {
      read.mockClear()
      await list(account)
      return read.mock.calls.length
    },
  }
}

test('a list is read once for each of its versions, and an empty one never', async () => {
  const { list, readsOf, readList, store } = await createServer()
  expect([await list('alice'), await readsOf('alice')]).toEqual([[], 0])
  await store('alice', 'é')
  expect([await readsOf('alice'), await list('alice'), await readsOf('alice')]).toEqual([1, ['é'], 0])
  // The same bytes for all requests.
  expect((await readList('alice')).json).toBe((await readList('alice')).json)
  await store('alice', 'a')
  expect([await readsOf('alice'), await readsOf('alice'), await list('alice')]).toEqual([1, 0, ['é', 'a']])
  await store('bob', 'x')
  expect(await readsOf('alice')).toBe(0)
})

test('a part of a list is not taken from the cached list, and a list without a version is read each time', async () => {
  const { readsOf, list, counts, store, forgetVersions } = await createServer()
  await store('alice', 'a', 'b', 'c')
  expect(await readsOf('alice')).toBe(1)
  expect(await list('alice', { after: 1 })).toEqual(['b', 'c'])
  expect(counts().reads).toBe(2)
  await forgetVersions()
  expect([await readsOf('alice'), await readsOf('alice')]).toEqual([1, 1])
  expect(await list('alice', {}, ['empty'])).toEqual(['a', 'b', 'c'])
})

test('of a list the first MiB is cached, and of all lists 16 MiB, of which those not used for long go first', async () => {
  const { readsOf, store } = await createServer()
  // With what a piece takes besides, 65,035 bytes.
  const piece = 'x'.repeat(64_000)
  await store('long', ...Array(20).fill(piece))
  const all = await readsOf('long')
  // Of the four pieces beyond it, the first one is read twice: it shows that the list is too long.
  expect([all > 20, await readsOf('long'), await readsOf('long')]).toEqual([true, 5, 5])
  for (let account = 0; account < 33; account++) await store(`${account}`, ...Array(8).fill(piece))
  for (let account = 0; account < 32; account++) await readsOf(`${account}`)
  const isRead = async (account: number) => (await readsOf(`${account}`)) > 0
  expect([await isRead(0), await isRead(32), await isRead(0), await isRead(1)]).toEqual([false, true, false, true])
})

test('requests of one turn share a statement for their versions, and what they read', async () => {
  const { list, store, counts } = await createServer()
  await store('alice', 'a')
  await store('bob', 'b')
  const lists = ['alice', 'bob', 'alice', 'alice'].map((account) => list(account))
  expect(await Promise.all(lists)).toEqual([['a'], ['b'], ['a'], ['a']])
  expect(counts()).toEqual({ states: 1, reads: 2 })
  await Promise.all(Array.from({ length: 3 }, () => list('bob', { limit: 5 })))
  expect(counts().reads).toBe(3)
})

test('versions that are fewer than the lists asked for fail each of these', async () => {
  const { list, plants } = await createServer()
  vi.mocked(plants.states).mockResolvedValue([{ version: 'version', last: 1 }])
  const lists = ['alice', 'bob'].map((account) => list(account))
  for (const each of lists) await expect(each).rejects.toThrow('1 results for 2 keys')
})

test('accounts take turns in reading, however many lists one of them reads', async () => {
  const { list, store, plants } = await createServer()
  for (const account of ['alice', 'bob']) await store(account, ...Array(3).fill('x'.repeat(40_000)))
  const read = vi.mocked(plants.read)
  const clock = vi.spyOn(performance, 'now')
  onTestFinished(() => clock.mockRestore())
  // As if each took a millisecond.
  clock.mockImplementation(() => read.mock.calls.length)
  // Each begins after a `seq` that no plant has, so that its first piece is its own.
  const lists = Array.from({ length: 100 }, (_, index) => list('alice', { after: -1 - index }))
  expect(await Promise.race([list('bob'), lists.at(-1)])).toHaveLength(3)
  const alone = read.mock.calls.filter(([account]) => account === 'bob').length
  expect(read.mock.calls.length).toBeLessThan(10 * alone)
  await Promise.all(lists)
})

test('a statement that selects nothing, even of one plant, is an error', async () => {
  const { list, store, plants } = await createServer()
  await store('alice', 'a')
  vi.mocked(plants.read).mockResolvedValue({ json: undefined, last: 1, more: false, version: undefined })
  for (const selection of [{}, { limit: 1 }, { after: 0 }]) {
    await expect(list('alice', selection)).rejects.toThrow('selects one plant')
  }
})
