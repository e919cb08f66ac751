/** What lists read, and when. server/test/orders/lists.test.ts shows that they are right in any order of events. */
import type { ListRange, Plants } from '@plant-store/prisma'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createLists } from '../../src/plants/lists.ts'

const MEBIBYTE = 2 ** 20

type Selection = Parameters<ReturnType<typeof createLists>>[1]

/**
 * Creates a database in memory, and counts what is read of it. Plants are numbered from 1.
 *
 * @param maxBytes how much JSON several plants may have at most
 */
function createDatabase(maxBytes = 2 ** 16) {
  const counts = { states: 0, reads: 0 }
  const lists = new Map<string, { names: string[]; version: string | undefined }>()
  let versions = 0
  const listOf = (account: string) => lists.get(account) ?? { names: [], version: undefined }

  const plants: Pick<Plants, 'states' | 'read'> = {
    async states(accounts) {
      counts.states++
      return accounts.map(listOf).map(({ names, version }) => ({ version, last: names.length }))
    },
    async read(account, { limit, after = 0, until }: ListRange) {
      counts.reads++
      const { names, version } = listOf(account)
      const begin = Math.max(after, 0)
      const rest = names.slice(begin, until)
      const part = rest.slice(0, limit)
      const json = part.map((name) => JSON.stringify({ name })).join()
      const isTooLong = part.length > 1 && json.length > maxBytes
      const last = part.length === 0 ? 0 : begin + part.length
      return { json: isTooLong ? undefined : Buffer.from(json), last, more: rest.length > part.length, version }
    },
  }
  return {
    // Nothing else is called here.
    plants: plants as Plants,
    counts,
    store(account: string, ...names: string[]) {
      lists.set(account, { names, version: `version-${++versions}` })
    },
    forgetVersion(account: string) {
      lists.set(account, { ...listOf(account), version: undefined })
    },
  }
}

/** Creates the lists of a server. */
function createServer(database: ReturnType<typeof createDatabase>) {
  const readList = createLists(database.plants)
  /** Reads a list as a client gets it, with what names its text. */
  async function get(account: string, selection?: Selection, known?: readonly string[]) {
    const { json, ...list } = await readList(account, selection, known)
    let text = Buffer.isBuffer(json) ? json.toString() : ''
    for (let next = Buffer.isBuffer(json) ? undefined : json; next; ) {
      const piece = await next()
      text += piece.json
      next = piece.next
    }
    return { ...list, text }
  }
  const list = async (account: string, selection?: Selection) => namesOf((await get(account, selection)).text)

  /** Returns how many reads a list takes. */
  async function readsOf(account: string): Promise<number> {
    const before = database.counts.reads
    await list(account)
    return database.counts.reads - before
  }

  return { readList, get, list, readsOf }
}

function namesOf(text: string): string[] {
  return (JSON.parse(text) as { name: string }[]).map(({ name }) => name)
}

test('a list is read once for each of its versions, and an empty one never', async () => {
  const database = createDatabase()
  const { list, readsOf, readList } = createServer(database)
  expect([await list('alice'), database.counts.reads]).toEqual([[], 0])
  database.store('alice', 'é')
  expect([await list('alice'), await readsOf('alice'), database.counts.reads]).toEqual([['é'], 0, 1])
  // The same bytes for all requests.
  expect((await readList('alice')).json).toBe((await readList('alice')).json)
  database.store('alice', 'a')
  expect([await readsOf('alice'), await readsOf('alice'), await list('alice')]).toEqual([1, 0, ['a']])
  database.store('bob', 'x')
  expect(await readsOf('alice')).toBe(0)
})

test('a part of a list is not taken from the cached list, and a list without a version is read each time', async () => {
  const database = createDatabase()
  const { readsOf, list, get } = createServer(database)
  database.store('alice', 'a', 'b', 'c')
  expect(await readsOf('alice')).toBe(1)
  expect(await list('alice', { after: 1 })).toEqual(['b', 'c'])
  expect(database.counts.reads).toBe(2)
  database.forgetVersion('alice')
  expect([await readsOf('alice'), await readsOf('alice')]).toEqual([1, 1])
  expect(namesOf((await get('alice', {}, ['empty'])).text)).toEqual(['a', 'b', 'c'])
})

test('of a list the first MiB is cached, and of all lists 16 MiB, of which those not used for long go first', async () => {
  const database = createDatabase(MEBIBYTE)
  const { readsOf } = createServer(database)
  const half = 'x'.repeat(MEBIBYTE / 2 - 2_000)
  database.store('long', ...Array(1_024).fill(''), half, half, half)
  // 512 plants, 1,024 are too long, 128, 256, 131 with the three long ones are too long, 17, 33 and so on.
  const all = await readsOf('long')
  expect(all).toBe(19)
  const again = await readsOf('long')
  expect([again < all, again]).toEqual([true, await readsOf('long')])
  for (let account = 0; account < 40; account++) database.store(`${account}`, half)
  for (let account = 0; account < 32; account++) await readsOf(`${account}`)
  expect([await readsOf('0'), await readsOf('32'), await readsOf('0'), await readsOf('1')]).toEqual([0, 1, 0, 1])
})

test('requests of one turn share a statement for their versions, and what they read', async () => {
  const database = createDatabase()
  const { list } = createServer(database)
  database.store('alice', 'a')
  database.store('bob', 'b')
  const lists = ['alice', 'bob', 'alice', 'alice'].map((account) => list(account))
  expect(await Promise.all(lists)).toEqual([['a'], ['b'], ['a'], ['a']])
  expect(database.counts).toEqual({ states: 1, reads: 2 })
  await Promise.all(Array.from({ length: 3 }, () => list('bob', { limit: 5 })))
  expect(database.counts.reads).toBe(3)
})

test('versions that are fewer than the lists asked for fail each of these', async () => {
  const database = createDatabase()
  database.plants.states = async () => [{ version: 'version', last: 1 }]
  const { list } = createServer(database)
  const lists = ['alice', 'bob'].map((account) => list(account))
  for (const each of lists) await expect(each).rejects.toThrow('1 results for 2 keys')
})

test('accounts take turns in reading, however many lists one of them reads', async () => {
  const database = createDatabase(100)
  const { read } = database.plants
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const reads: string[] = []
  database.plants.read = (account, range) => {
    // As if it took a millisecond.
    now++
    reads.push(account)
    return read(account, range)
  }
  const { list } = createServer(database)
  for (const account of ['alice', 'bob']) database.store(account, ...Array(3).fill('x'.repeat(60)))
  // Each begins after a `seq` that no plant has, so that its first piece is its own.
  const lists = Array.from({ length: 400 }, (_, index) => list('alice', { after: -1 - index }))
  expect(await Promise.race([list('bob'), lists.at(-1)])).toHaveLength(3)
  const alone = reads.filter((account) => account === 'bob').length
  expect(reads.length).toBeLessThan(10 * alone)
  await Promise.all(lists)
})

test('a statement that selects nothing, even of one plant, is an error', async () => {
  const database = createDatabase()
  const { read } = database.plants
  database.plants.read = async (...range) => ({ ...(await read(...range)), json: undefined })
  database.store('alice', 'a')
  for (const selection of [{}, { limit: 1 }, { after: 0 }]) {
    await expect(createServer(database).list('alice', selection)).rejects.toThrow('selects one plant')
  }
})
