import { EventEmitter, once } from 'node:events'
import type { KnownList, ListRange, ListState } from '@plant-store/prisma'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { createListCache, ENTRY_BYTES, type LimitRead, type ListCacheOptions } from '../../src/plants/list-cache.ts'

/** Creates a cache of lists in memory, whose plants are numbers in JSON, and counts what it reads. */
function create(options: Partial<ListCacheOptions> = {}) {
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
      return known.map(stateOf)
    },
    readList: async (account, range) => {
      counts.reads++
      return { pieces: pieces(text(account, range).slice(0, -1), ']'), last: 0, more: false }
    },
    ...options,
  })
  const getRaw = (account: string, limitRead: LimitRead = (read) => read()) => cache.get(account, limitRead)
  return {
    counts,
    stored,
    text,
    getRaw,
    get: async (account: string, limitRead?: LimitRead) => textOf(await getRaw(account, limitRead)),
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

async function textOf(list: Buffer | AsyncIterator<string>): Promise<string> {
  if (Buffer.isBuffer(list)) return list.toString()
  let text = ''
  for (let next = await list.next(); !next.done; next = await list.next()) text += next.value
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
  add('a', 6, 7)
  const addMeanwhile: LimitRead = (read) => {
    add('a', 8)
    return read()
  }
  expect([await get('a', addMeanwhile), await get('a'), counts.reads]).toEqual([
    '[1,2,3,4,5,6,7]',
    '[1,2,3,4,5,6,7,8]',
    2,
  ])
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

test('a list is read again where its last plant is gone, or another one has its number', async () => {
  const { get, add, rewind, counts } = create()
  add('a', 1, 2)
  await get('a')
  rewind('a')
  expect([await get('a'), await get('a'), counts.reads]).toEqual(['[1]', '[1]', 1])
  add('a', 3)
  expect(await get('a')).toBe('[1,3]')
  for (const [added, list, reads] of [
    [[4], '[1,4]', 2],
    [[5, 6], '[1,5,6]', 3],
  ] as const) {
    rewind('a')
    add('a', ...added)
    expect([await get('a'), counts.reads]).toEqual([list, reads])
  }
})

test('a list up to the size limit is cached, a longer one is returned in pieces', async () => {
  const { getRaw, add, counts, stored } = create({ maxListBytes: 6 })
  stored.maxNews = 0
  const get = async () => {
    const list = await getRaw('a')
    return [Buffer.isBuffer(list), await textOf(list), counts.reads]
  }
  add('a', 1)
  expect(await get()).toEqual([true, '[1]', 1])
  add('a', 234567)
  // What was added is too long to be appended, so all is read again.
  expect(await get()).toEqual([false, '[1,234567]', 3])
  expect(await get()).toEqual([false, '[1,234567]', 5])
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

/** Makes reads wait until an event. */
const waitFor =
  (gate: EventEmitter): LimitRead =>
  async (read) => {
    const opened = once(gate, 'open')
    gate.emit('waiting')
    await opened
    return read()
  }

test('a request that waited for its read finds what another has read meanwhile, if that is new enough', async () => {
  const { getRaw, counts, stored, add, text } = create()
  add('alice', '1', '2')
  stored.maxNews = 1
  const gate = new EventEmitter()
  const early = getRaw('alice', waitFor(gate))
  const first = await getRaw('alice')
  gate.emit('open')
  expect(await early).toBe(first)
  expect(counts.reads).toBe(1)

  add('alice', '3', '4')
  const isWaiting = once(gate, 'waiting')
  const late = getRaw('alice', waitFor(gate))
  await isWaiting
  gate.emit('open')
  expect(String(await late)).toBe(text('alice'))
  expect(counts.reads).toBe(2)
})

const NOTHING: ListState = { edits: 0, last: 0, lastCreatedAt: 0, hasKnown: true, news: '' }

test('states that cannot be read fail the requests of their turn only', async () => {
  const readStates = vi.fn(async () => [NOTHING]).mockRejectedValueOnce(new Error('locked'))
  const { get } = create({ readStates })
  await expect(Promise.all([get('alice'), get('alice')])).rejects.toThrow('locked')
  expect(await get('alice')).toBe('[]')
})

/** Creates a cache that waits for the states of each turn, and returns a function that begins one. */
function createWaiting(options: Partial<ListCacheOptions> = {}) {
  const responses: ((states: ListState[]) => void)[] = []
  const { get } = create({ readStates: () => new Promise((resolve) => responses.push(resolve)), ...options })
  return async (limitRead?: LimitRead) => {
    const turn = responses.length
    const list = get('alice', limitRead)
    await expect.poll(() => responses.length).toBe(turn + 1)
    return { list, respond: (state: Partial<ListState>) => responses[turn]?.([{ ...NOTHING, ...state }]) }
  }
}

test('what an older turn has read never hides what a newer one has', async () => {
  const begin = createWaiting()
  const [older, newer] = [await begin(), await begin()]
  newer.respond({ last: 2, news: '1,2' })
  expect(await newer.list).toBe('[1,2]')
  older.respond({ last: 1, news: '1' })
  expect(await older.list).toBe('[1]')
  const last = await begin()
  last.respond({ last: 2, news: '2' })
  expect(await last.list).toBe('[1,2]')
})

test.each([
  ['an edited list', { edits: 1, last: 2 }, { last: 2, news: '1,2' }],
  ['a list with too much news', { last: 2 }, { last: 1, news: '1' }],
])('%s is read again, also if an older turn has cached it meanwhile', async (_what, state, before) => {
  const begin = createWaiting({ readList: async () => ({ pieces: pieces('[2]'), last: 2, more: false }) })
  const gate = new EventEmitter()
  const [older, newer] = [await begin(), await begin(waitFor(gate))]
  const isWaiting = once(gate, 'waiting')
  newer.respond({ ...state, news: undefined })
  await isWaiting
  older.respond(before)
  expect(await older.list).toBe(`[${before.news}]`)
  gate.emit('open')
  expect(await newer.list).toBe('[2]')
})

test('after any changes of lists, no list is older than its request', async () => {
  const account = fc.constantFrom('a', 'b')
  const action = fc.constantFrom('add', 'add', 'remove', 'rewind', 'get', 'turn')
  const step = fc.record({ action, account, count: fc.integer({ min: 1, max: 4 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer({ min: 0, max: 3 }), async (steps, maxNews) => {
      const { get, add, remove, rewind, stored, text } = create({ maxListBytes: 30, maxBytes: 2 * ENTRY_BYTES })
      stored.maxNews = maxNews
      for (const { action, account, count } of steps) {
        if (action === 'add') for (let each = 0; each < count; each++) add(account, stored.now + 1)
        if (action === 'remove') remove(account)
        if (action === 'rewind') rewind(account)
        if (action === 'turn') await new Promise((resolve) => setImmediate(resolve))
        if (action === 'get') expect(await get(account)).toBe(text(account))
      }
    }),
    { numRuns: 300 },
  )
})
