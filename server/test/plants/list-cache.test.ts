import type { KnownList, ListRange, ListState } from '@plant-store/prisma'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { createListCache, ENTRY_BYTES, type LimitRead, type ListCacheOptions } from '../../src/plants/list-cache.ts'

/** A list in memory: its plants by `seq`, with the times of their creation, and how often others than the last were changed. */
interface StoredList {
  edits: number
  plants: Map<number, [plant: string, createdAt: number]>
}

/** Creates a cache of lists in memory, whose plants are numbers in JSON, and counts what it reads. */
function create(options: Partial<ListCacheOptions> = {}) {
  const state = { states: 0, reads: 0, maxNews: 100, late: '' }
  let seq = 0
  let now = 0
  const lists = new Map<string, StoredList>()
  const listOf = (account: string): StoredList => {
    const list = lists.get(account) ?? { edits: 0, plants: new Map() }
    lists.set(account, list)
    return list
  }
  const add = (account: string, ...plants: (string | number)[]) => {
    for (const plant of plants) listOf(account).plants.set(++seq, [String(plant), ++now])
  }
  const remove = (account: string) => {
    const list = listOf(account)
    const [first] = list.plants.keys()
    if (first !== undefined && list.plants.delete(first)) list.edits++
  }
  /** Puts the database back to before the last plant, whose `seq` the next one gets. */
  const rewind = (account: string) => {
    if (listOf(account).plants.delete(seq)) seq--
  }

  const lastOf = (account: string) => Math.max(0, ...listOf(account).plants.keys())
  const partOf = (account: string, { after = 0, until = seq }: ListRange) =>
    [...listOf(account).plants].filter(([each]) => each > after && each <= until).map(([, [plant]]) => plant)
  const createdAt = (account: string, last: number) => listOf(account).plants.get(last)?.[1] ?? null
  const stateOf = ({ account, last, lastCreatedAt }: KnownList): ListState => {
    const news = partOf(account, { after: last })
    const end = lastOf(account)
    return {
      edits: listOf(account).edits,
      last: end,
      lastCreatedAt: createdAt(account, end),
      hasKnown: last > 0 && createdAt(account, last) === lastCreatedAt,
      news: news.length > state.maxNews ? undefined : news.join(),
    }
  }
  const text = (account: string) => `[${partOf(account, {}).join()}]`

  const cache = createListCache({
    maxListBytes: 100,
    maxBytes: 10_000,
    readStates: async (known) => {
      state.states++
      return known.map(stateOf)
    },
    readList: async (account, range) => {
      state.reads++
      const part = `[${partOf(account, range).join()}]`
      return { pieces: pieces(part.slice(0, -1), ']'), last: 0, more: false }
    },
    ...options,
  })
  const limitRead: LimitRead = (read) => {
    if (state.late !== '') add('a', state.late)
    state.late = ''
    return read()
  }
  const getRaw = (account: string) => cache.get(account, limitRead)
  const get = async (account: string) => textOf(await getRaw(account))
  return { cache, get, getRaw, state, add, remove, rewind, text, listOf }
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
  const { get, add, state } = create()
  expect(await get('a')).toBe('[]')
  add('a', 1)
  expect(await get('a')).toBe('[1]')
  add('a', 2, 3)
  expect([await get('a'), await get('a'), state.reads]).toEqual(['[1,2,3]', '[1,2,3]', 0])
  state.maxNews = 1
  add('a', 4, 5)
  expect([await get('a'), await get('a'), state.reads]).toEqual(['[1,2,3,4,5]', '[1,2,3,4,5]', 1])
})

test('a list is read again where plants were changed or deleted, and is then cached', async () => {
  const { get, add, remove, state } = create()
  add('a', 1, 2)
  await get('a')
  remove('a')
  add('a', 3)
  expect([await get('a'), await get('a'), state.reads]).toEqual(['[2,3]', '[2,3]', 1])
  remove('a')
  remove('a')
  expect(await get('a')).toBe('[]')
})

test('a list is read again where its last plant is gone, or another one has its number', async () => {
  const { get, add, rewind, state } = create()
  add('a', 1, 2)
  await get('a')
  rewind('a')
  expect([await get('a'), await get('a'), state.reads]).toEqual(['[1]', '[1]', 1])
  add('a', 3)
  expect(await get('a')).toBe('[1,3]')
  rewind('a')
  add('a', 4)
  expect([await get('a'), state.reads]).toEqual(['[1,4]', 2])
  rewind('a')
  add('a', 5, 6)
  expect([await get('a'), state.reads]).toEqual(['[1,5,6]', 3])
})

test('what was added while a list was read is appended the next time', async () => {
  const { get, add, state } = create()
  add('a', 1, 2)
  Object.assign(state, { maxNews: 1, late: '3' })
  expect([await get('a'), await get('a'), state.reads]).toEqual(['[1,2]', '[1,2,3]', 1])
})

test('a list up to the size limit is cached, a longer one is returned in pieces', async () => {
  const { getRaw, add, state } = create({ maxListBytes: 6 })
  state.maxNews = 0
  const expectList = async (kind: 'bytes' | 'pieces', text: string, reads: number) => {
    const list = await getRaw('a')
    expect([Buffer.isBuffer(list) ? 'bytes' : 'pieces', await textOf(list), state.reads]).toEqual([kind, text, reads])
  }
  add('a', 1)
  await expectList('bytes', '[1]', 1)
  add('a', 234567)
  // What was added is too long to be appended, so all is read again.
  await expectList('pieces', '[1,234567]', 3)
  await expectList('pieces', '[1,234567]', 5)
})

test('the size of the cache counts each list, and the ones that were not used for long go first', async () => {
  const { get, add, state } = create({ maxListBytes: 2_000, maxBytes: 3 * ENTRY_BYTES + 9 })
  const readsOf = async (account: string) => {
    const before = state.reads
    await get(account)
    return state.reads - before
  }
  for (const account of ['a', 'b', 'c', 'd']) add(account, 1)
  state.maxNews = 0
  for (const account of ['a', 'b', 'c']) expect(await readsOf(account)).toBe(1)
  for (const account of ['a', 'b', 'c', 'a']) expect(await readsOf(account)).toBe(0)
  // All were used, so each is spared once, and the first goes.
  expect(await readsOf('d')).toBe(1)
  expect([await readsOf('b'), await readsOf('d')]).toEqual([0, 0])
  // Of the others, "c" was not used since.
  expect([await readsOf('a'), await readsOf('b'), await readsOf('d'), await readsOf('c')]).toEqual([1, 0, 0, 1])
  // A list that grows takes the room of another one.
  state.maxNews = 9
  add('d', '1'.repeat(1_000))
  expect([await readsOf('d'), await readsOf('d')]).toEqual([0, 0])
})

test('requests share the bytes of a list that has not changed, and in one turn what they read', async () => {
  const { getRaw, get, add, state } = create()
  add('alice', '"é"')
  add('bob', '2')
  const first = await getRaw('alice')
  expect(String(first)).toBe('["é"]')
  expect(await getRaw('alice')).toBe(first)
  expect(await Promise.all(['alice', 'bob', 'alice'].map(get))).toEqual(['["é"]', '[2]', '["é"]'])
  expect(state).toMatchObject({ reads: 0, states: 3 })
  add('alice', '3')
  const [one, other] = await Promise.all(['alice', 'alice'].map(getRaw))
  expect(one).toBe(other)
  expect(state.states).toBe(4)
})

function createPermission() {
  let allow = () => {}
  const allowed = new Promise<void>((resolve) => {
    allow = resolve
  })
  return { allowed, allow }
}

test('a request that waited for its read finds what another has read meanwhile, if that is new enough', async () => {
  const { getRaw, state, cache, add, text } = create()
  add('alice', '1', '2')
  state.maxNews = 1
  let waiting = 0
  const waitFor = () => {
    const { allowed, allow } = createPermission()
    const list = cache.get('alice', async (read) => {
      waiting++
      await allowed
      return read()
    })
    return { list, allow }
  }
  const early = waitFor()
  const first = await getRaw('alice')
  early.allow()
  expect(await early.list).toBe(first)
  expect(state.reads).toBe(1)

  add('alice', '3', '4')
  const late = waitFor()
  await expect.poll(() => waiting).toBe(2)
  late.allow()
  expect(String(await late.list)).toBe(text('alice'))
  expect(state.reads).toBe(2)
})

const stateOf = (state: Partial<ListState>): ListState => ({
  ...{ edits: 0, last: 0, lastCreatedAt: 0, hasKnown: true, news: '' },
  ...state,
})

test('states that cannot be read fail the requests of their turn only', async () => {
  const readStates = vi.fn(async () => [stateOf({})]).mockRejectedValueOnce(new Error('locked'))
  const { get } = create({ readStates })
  await expect(Promise.all([get('alice'), get('alice')])).rejects.toThrow('locked')
  expect(await get('alice')).toBe('[]')
})

/** Creates a cache that waits for the states of each turn, and a function that begins one and returns its list. */
function createWaiting(options: Partial<ListCacheOptions> = {}) {
  const responses: ((states: ListState[]) => void)[] = []
  const { cache } = create({ readStates: () => new Promise((resolve) => responses.push(resolve)), ...options })
  const begin = async (limitRead: LimitRead = (read) => read()) => {
    const turn = responses.length
    const list = cache.get('alice', limitRead).then(textOf)
    await expect.poll(() => responses.length).toBe(turn + 1)
    return { list, respond: (state: Partial<ListState>) => responses[turn]?.([stateOf(state)]) }
  }
  return begin
}

test('what an older turn has read never hides what a newer one has', async () => {
  const begin = createWaiting()
  const [older, newer] = [await begin(), await begin()]
  newer.respond({ edits: 0, last: 2, news: '1,2' })
  expect(await newer.list).toBe('[1,2]')
  older.respond({ edits: 0, last: 1, news: '1' })
  expect(await older.list).toBe('[1]')
  const last = await begin()
  last.respond({ edits: 0, last: 2, news: '2' })
  expect(await last.list).toBe('[1,2]')
})

test.each([
  ['an edited list', { edits: 1, last: 2 }, { edits: 0, last: 2, news: '1,2' }],
  ['a list with too much news', { edits: 0, last: 2 }, { edits: 0, last: 1, news: '1' }],
])('%s is read again, also if an older turn has cached it meanwhile', async (_what, state, before) => {
  const begin = createWaiting({ readList: async () => ({ pieces: pieces('[2]'), last: 2, more: false }) })
  const { allowed, allow } = createPermission()
  const [older, newer] = [await begin(), await begin((read) => allowed.then(read))]
  newer.respond({ ...state, news: undefined })
  older.respond(before)
  expect(await older.list).toBe(`[${before.news}]`)
  allow()
  expect(await newer.list).toBe('[2]')
})

test('after any changes of lists, no list is older than its request', async () => {
  const account = fc.constantFrom('a', 'b')
  const action = fc.constantFrom('add', 'add', 'remove', 'rewind', 'get', 'turn')
  const step = fc.record({ action, account, count: fc.integer({ min: 1, max: 4 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer({ min: 0, max: 3 }), async (steps, maxNews) => {
      const { get, add, remove, rewind, state, text } = create({ maxListBytes: 30, maxBytes: 2 * ENTRY_BYTES })
      state.maxNews = maxNews
      let plant = 0
      for (const { action, account, count } of steps) {
        if (action === 'add') for (let each = 0; each < count; each++) add(account, String(++plant))
        if (action === 'remove') remove(account)
        if (action === 'rewind') rewind(account)
        if (action === 'turn') await new Promise((resolve) => setImmediate(resolve))
        if (action === 'get') expect(await get(account)).toBe(text(account))
      }
    }),
    { numRuns: 300 },
  )
})
