import { setImmediate as nextTurn } from 'node:timers/promises'
import type { KnownList, ListRange, ListState } from '@plant-store/prisma'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { createListCache, ENTRY_BYTES, type ListCacheOptions } from '../../src/plants/list-cache.ts'

/** A longer list has several pieces, in characters. */
const MAX_PIECE = 30

/**
 * Creates a cache of lists in memory, whose plants are numbers in JSON, and counts what it reads.
 *
 * @param wait delays what was read on its way to the cache
 */
function create(options: Partial<ListCacheOptions> = {}, wait = async () => {}) {
  const counts = { states: 0, reads: 0 }
  const rows: { account: string; seq: number; createdAt: number; plant: string }[] = []
  const edits: Record<string, number> = {}
  const stored = { maxNews: 100, last: 0, now: 0 }

  const text = (account: string, { after = 0, until = stored.last }: ListRange = {}) =>
    `[${rows.filter((row) => row.account === account && row.seq > after && row.seq <= until).map(({ plant }) => plant)}]`
  const stateOf = ({ account, last, lastCreatedAt }: KnownList): ListState => {
    const own = rows.filter((row) => row.account === account)
    return {
      edits: edits[account] ?? 0,
      last: own.at(-1)?.seq ?? 0,
      lastCreatedAt: own.at(-1)?.createdAt ?? null,
      hasKnown: own.some((row) => row.seq === last && row.createdAt === lastCreatedAt),
      news:
        own.filter(({ seq }) => seq > last).length > stored.maxNews
          ? undefined
          : text(account, { after: last }).slice(1, -1),
    }
  }

  const cache = createListCache({
    maxListBytes: 100,
    maxBytes: 10_000,
    readStates: async (known) => {
      counts.states++
      const states = known.map(stateOf)
      await wait()
      return states
    },
    takeTurn: async () => wait(),
    readList: async (account, range) => {
      counts.reads++
      const list = text(account, range)
      await wait()
      const isWhole = list.length <= MAX_PIECE
      const parts = isWhole ? [list] : [list.slice(0, -1), ']']
      return { pieces: pieces(...parts), isWhole, last: 0, more: false }
    },
    ...options,
  })
  return {
    counts,
    stored,
    text,
    getRaw: cache.get,
    get: async (account: string) => textOf(await cache.get(account)),
    add(account: string, ...plants: (string | number)[]) {
      for (const plant of plants)
        rows.push({ account, seq: ++stored.last, createdAt: ++stored.now, plant: String(plant) })
    },
    /** Deletes the first plant of an account. */
    remove(account: string) {
      const index = rows.findIndex((row) => row.account === account)
      if (index >= 0 && rows.splice(index, 1)) edits[account] = (edits[account] ?? 0) + 1
    },
    /** Puts the database back to before the last plant, whose `seq` the next one gets. */
    rewind(account: string) {
      const { account: owner, seq } = rows.at(-1) ?? {}
      if (owner === account && seq === stored.last && rows.pop()) stored.last--
    },
  }
}

async function* pieces(...texts: readonly string[]): AsyncGenerator<string, undefined> {
  yield* texts
}

async function textOf(list: Buffer | AsyncIterable<string>): Promise<string> {
  if (Buffer.isBuffer(list)) return list.toString()
  let text = ''
  for await (const piece of list) text += piece
  return text
}

test('added plants are appended, a few without another read', async () => {
  const { get, add, counts, stored } = create()
  expect(await get('a')).toBe('[]')
  add('a', 1)
  expect(await get('a')).toBe('[1]')
  add('a', 2, 3)
  expect([await get('a'), await get('a'), counts.reads]).toEqual(['[1,2,3]', '[1,2,3]', 0])
  stored.maxNews = 1
  add('a', 4, 5)
  expect([await get('a'), await get('a'), counts.reads]).toEqual(['[1,2,3,4,5]', '[1,2,3,4,5]', 1])
})

test('a list is read again where plants were changed or deleted, and is then cached', async () => {
  const { get, add, remove, counts } = create()
  add('a', 1, 2)
  await get('a')
  remove('a')
  add('a', 3)
  expect([await get('a'), await get('a'), counts.reads]).toEqual(['[2,3]', '[2,3]', 1])
  remove('a')
  remove('a')
  expect(await get('a')).toBe('[]')
})

test('the size of the cache counts each list, and the ones that were not used for long go first', async () => {
  const { get, add, counts, stored } = create({ maxListBytes: 2_000, maxBytes: 3 * ENTRY_BYTES + 9 })
  /** Returns how often the list of each account was read. */
  const readsOf = async (accounts: string) => {
    const reads: number[] = []
    for (const account of accounts) {
      const before = counts.reads
      await get(account)
      reads.push(counts.reads - before)
    }
    return reads.join('')
  }
  for (const account of 'abcd') add(account, 1)
  stored.maxNews = 0
  expect(await readsOf('abcabca')).toBe('1110000')
  // All were used, so each is spared once, and the first goes.
  expect(await readsOf('dbd')).toBe('100')
  // Of the others, "c" was not used since.
  expect(await readsOf('abdc')).toBe('1001')
  // A list that grows takes the room of another one.
  stored.maxNews = 9
  add('d', '1'.repeat(1_000))
  expect(await readsOf('dd')).toBe('00')
})

test('requests share the bytes of a list that has not changed, and in one turn what they read', async () => {
  const { getRaw, get, add, counts } = create()
  add('alice', '"é"')
  add('bob', '2')
  const first = await getRaw('alice')
  expect(String(first)).toBe('["é"]')
  expect(await getRaw('alice')).toBe(first)
  expect(await Promise.all(['alice', 'bob', 'alice'].map((account) => get(account)))).toEqual(['["é"]', '[2]', '["é"]'])
  expect(counts).toEqual({ reads: 0, states: 3 })
  add('alice', '3')
  const [one, other] = await Promise.all([getRaw('alice'), getRaw('alice')])
  expect(one).toBe(other)
  expect(counts.states).toBe(4)
})

test('a request that waited for its read finds what another has read meanwhile', async () => {
  let isFirst = true
  let first: unknown
  const takeTurn = async () => {
    if (!isFirst) return
    isFirst = false
    first = await getRaw('alice')
  }
  const { getRaw, counts, stored, add } = create({ takeTurn })
  add('alice', '1', '2')
  stored.maxNews = 1
  expect(await getRaw('alice')).toBe(first)
  expect(counts.reads).toBe(1)
})

const NOTHING: ListState = { edits: 0, last: 0, lastCreatedAt: 0, hasKnown: true, news: '' }

test('states that cannot be read fail the requests of their turn only', async () => {
  const readStates = vi.fn(async () => [NOTHING]).mockRejectedValueOnce(new Error('locked'))
  const { get } = create({ readStates })
  await expect(Promise.all([get('alice'), get('alice')])).rejects.toThrow('locked')
  expect(await get('alice')).toBe('[]')
})

test('after any changes of a list, and in whatever order reads end, no response is older than its request', async () => {
  const action = fc.constantFrom('add', 'add', 'remove', 'rewind', 'get', 'get', 'turn', 'turn')
  const steps = fc.array(fc.record({ action, count: fc.integer({ min: 1, max: 4 }) }), { maxLength: 40, size: 'max' })
  const turns = fc.infiniteStream(fc.constantFrom(0, 0, 1, 2, 4))
  await fc.assert(
    fc.asyncProperty(steps, fc.nat({ max: 3 }), turns, async (actions, maxNews, delays) => {
      const wait = async () => {
        for (let left: number = delays.next().value; left > 0; left--) await nextTurn()
      }
      const { get, add, remove, rewind, stored, text } = create({ maxListBytes: 30 }, wait)
      stored.maxNews = maxNews
      const history: number[][] = [[]]
      /** Expects all plants that were there from the request to the response, in order, and none that never was. */
      const check = async (begin: number) => {
        const list: number[] = JSON.parse(await get('a'))
        const versions = history.slice(begin)
        const always = versions.reduce((kept, version) => kept.filter((plant) => version.includes(plant)))
        expect(list).toEqual([...new Set(versions.flat())].filter((plant) => list.includes(plant)))
        expect(list).toEqual(expect.arrayContaining(always))
      }
      const checks: Promise<void>[] = []
      for (const { action, count } of actions) {
        if (action === 'add') for (let each = 0; each < count; each++) add('a', stored.now + 1)
        if (action === 'remove') remove('a')
        if (action === 'rewind') rewind('a')
        if (action === 'turn') await nextTurn()
        if (action === 'get') checks.push(check(history.length - 1))
        history.push(JSON.parse(text('a')))
      }
      await Promise.all(checks)
    }),
    { numRuns: 1_500 },
  )
})
