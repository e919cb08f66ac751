import type { KnownList, ListChange } from '@plant-store/prisma'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { createListCache, type LimitRead, type ListCacheOptions } from '../../src/plants/list-cache.ts'

/** A list in memory: its plants by `seq`, and how often others than the last were changed. */
interface StoredList {
  edits: number
  plants: Map<number, string>
}

/** Creates a cache of lists in memory, whose plants are numbers in JSON, and counts what it reads. */
function create(initial: Record<string, string[]> = {}, options: Partial<ListCacheOptions> = {}) {
  const state = { changes: 0, reads: 0, limited: 0, maxNews: 100 }
  let seq = 0
  const lists = new Map<string, StoredList>()
  const listOf = (account: string): StoredList => {
    const list = lists.get(account) ?? { edits: 0, plants: new Map() }
    lists.set(account, list)
    return list
  }
  const add = (account: string, ...plants: string[]) => {
    for (const plant of plants) listOf(account).plants.set(++seq, plant)
  }
  const remove = (account: string) => {
    const list = listOf(account)
    const [first] = list.plants.keys()
    if (first === undefined) return
    list.plants.delete(first)
    list.edits++
  }
  for (const [account, plants] of Object.entries(initial)) add(account, ...plants)

  const changeOf = ({ account, last }: KnownList): ListChange => {
    const { edits, plants } = listOf(account)
    const news = [...plants].filter(([each]) => each > last).map(([, plant]) => plant)
    return { edits, last: lastOf(account), json: news.length > state.maxNews ? undefined : news.join() }
  }
  const lastOf = (account: string) => Math.max(0, ...listOf(account).plants.keys())

  const cache = createListCache({
    maxListCharacters: 100,
    maxCharacters: 1_000,
    readChanges: async (known) => {
      state.changes++
      return known.map(changeOf)
    },
    readList: async (account) => {
      state.reads++
      return {
        pieces: pieces(`[${[...listOf(account).plants.values()].join()}`, ']'),
        last: lastOf(account),
        more: false,
      }
    },
    ...options,
  })
  const limitRead: LimitRead = (read) => {
    state.limited++
    return read()
  }
  const getRaw = (account: string) => cache.get(account, limitRead)
  const get = async (account: string) => textOf(await getRaw(account))
  const text = (account: string) => `[${[...listOf(account).plants.values()].join()}]`
  return { cache, get, getRaw, state, add, remove, text, listOf }
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

test('the bytes of a list that has not changed are shared', async () => {
  const { getRaw, state } = create({ alice: ['"é"'] })
  const first = await getRaw('alice')
  expect(String(first)).toBe('["é"]')
  expect(await getRaw('alice')).toBe(first)
  expect(state).toMatchObject({ reads: 0, limited: 0, changes: 2 })
})

/** What `get` must return, and how many lists were read until then, each within the limits of its request. */
test.each<[string, string[], string[]]>([
  ['added plants are appended', ['1'], ['get [1] 0', 'add 2', 'add 3', 'get [1,2,3] 0']],
  ['added plants are appended to an empty list', [], ['get [] 0', 'add 4', 'get [4] 0', 'add 5', 'get [4,5] 0']],
  [
    'an edited list is read again, and then cached',
    ['1', '2'],
    ['get [1,2] 0', 'remove', 'add 3', 'get [2,3] 1', 'get [2,3] 1'],
  ],
  ['a list whose last plant is gone is read again', ['1'], ['get [1] 0', 'remove', 'get [] 1', 'add 2', 'get [2] 1']],
  [
    'a database put back to an earlier time',
    ['1', '2'],
    ['get [1,2] 0', 'rewind', 'get [1] 1', 'add 3', 'get [1,3] 1'],
  ],
  ['too much news is read, and then cached', ['1', '2'], ['news 1', 'get [1,2] 1', 'add 3', 'get [1,2,3] 1']],
])('%s', async (_title, initial, steps) => {
  const { get, add, remove, listOf, state } = create({ alice: initial })
  for (const [action, value = '', reads] of steps.map((step) => step.split(' '))) {
    if (action === 'add') add('alice', value)
    else if (action === 'remove') remove('alice')
    else if (action === 'rewind') listOf('alice').plants.delete(2)
    else if (action === 'news') state.maxNews = Number(value)
    else expect([await get('alice'), state.reads, state.limited]).toEqual([value, Number(reads), Number(reads)])
  }
})

test('requests in one turn share what they read', async () => {
  const { get, getRaw, add, state } = create({ alice: ['1'], bob: ['2'] })
  expect(await Promise.all(['alice', 'bob', 'alice'].map(get))).toEqual(['[1]', '[2]', '[1]'])
  expect(state.changes).toBe(1)
  add('alice', '3')
  const [one, other] = await Promise.all(['alice', 'alice'].map(getRaw))
  expect(one).toBe(other)
  expect(state.changes).toBe(2)
})

test('a request that waited for its read finds what another has read meanwhile, if that is new enough', async () => {
  const { getRaw, state, cache, add, text } = create({ alice: ['1', '2'] })
  state.maxNews = 1
  const waitFor = () => {
    let allow = () => {}
    const allowed = new Promise<void>((resolve) => {
      allow = resolve
    })
    const list = cache.get('alice', async (read) => {
      state.limited++
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
  await expect.poll(() => state.limited).toBe(3)
  late.allow()
  expect(String(await late.list)).toBe(text('alice'))
  expect(state.reads).toBe(2)
})

test('changes that cannot be read fail the requests of their turn only', async () => {
  const readChanges = vi.fn(async () => [{ edits: 0, last: 0, json: '' }]).mockRejectedValueOnce(new Error('locked'))
  const { get } = create({}, { readChanges })
  await expect(Promise.all([get('alice'), get('alice')])).rejects.toThrow('locked')
  expect(await get('alice')).toBe('[]')
})

test('what an older turn has read never hides what a newer one has', async () => {
  const responses: ((changes: ListChange[]) => void)[] = []
  const { get } = create({}, { readChanges: () => new Promise((resolve) => responses.push(resolve)) })
  const older = get('alice')
  await expect.poll(() => responses.length).toBe(1)
  const newer = get('alice')
  await expect.poll(() => responses.length).toBe(2)
  responses[1]?.([{ edits: 0, last: 2, json: '1,2' }])
  expect(await newer).toBe('[1,2]')
  responses[0]?.([{ edits: 0, last: 1, json: '1' }])
  expect(await older).toBe('[1]')
  const last = get('alice')
  await expect.poll(() => responses.length).toBe(3)
  responses[2]?.([{ edits: 0, last: 2, json: '2' }])
  expect(await last).toBe('[1,2]')
})

test('an edited list is read again, also if an older turn has cached it meanwhile', async () => {
  const responses: ((changes: ListChange[]) => void)[] = []
  const { cache } = create(
    {},
    {
      readChanges: () => new Promise((resolve) => responses.push(resolve)),
      readList: async () => ({ pieces: pieces('[2]'), last: 2, more: false }),
    },
  )
  let allow = () => {}
  const allowed = new Promise<void>((resolve) => {
    allow = resolve
  })
  const older = cache.get('alice', (read) => read())
  await expect.poll(() => responses.length).toBe(1)
  const newer = cache.get('alice', (read) => allowed.then(read))
  await expect.poll(() => responses.length).toBe(2)
  responses[1]?.([{ edits: 1, last: 2, json: undefined }])
  responses[0]?.([{ edits: 0, last: 2, json: '1,2' }])
  expect(String(await older)).toBe('[1,2]')
  allow()
  expect(String(await newer)).toBe('[2]')
})

test('a list up to the size limit is cached, a longer one is returned in pieces', async () => {
  const { getRaw, state, text } = create({ fits: ['12', '4'], long: ['12', '345'] }, { maxListCharacters: 6 })
  state.maxNews = 0
  expect(Buffer.isBuffer(await getRaw('fits'))).toBe(true)
  await getRaw('fits')
  expect(state.reads).toBe(1)

  const long = await getRaw('long')
  expect(Buffer.isBuffer(long)).toBe(false)
  expect(await textOf(long)).toBe(text('long'))
  await getRaw('long')
  expect(state.reads).toBe(3)
})

test.each([6, 100])('a list that outgrows the size limit leaves a cache of %i characters', async (maxCharacters) => {
  const { get, add, state } = create({ alice: ['12'] }, { maxListCharacters: 6, maxCharacters })
  await get('alice')
  add('alice', '3')
  expect(await get('alice')).toBe('[12,3]')
  add('alice', '4')
  expect(await get('alice')).toBe('[12,3,4]')
  state.maxNews = 2
  await get('alice')
  expect(state.reads).toBe(1)
})

test('the least recently used lists are removed first, and no more than needed', async () => {
  const { get, add, state } = create({ a: ['1'], b: ['2'], c: ['3'], d: ['4'] }, { maxCharacters: 9 })
  state.maxNews = 0
  for (const account of ['a', 'b', 'c', 'a', 'd']) await get(account)
  expect(state.reads).toBe(4)
  for (const account of ['c', 'a', 'd']) await get(account)
  expect(state.reads).toBe(4)
  await get('b')
  expect(state.reads).toBe(5)

  // "a", "d" and "b" are cached. Growing "d" removes "a" and then "b".
  state.maxNews = 3
  add('d', '5', '6', '7')
  expect(await get('d')).toBe('[4,5,6,7]')
  state.maxNews = 0
  await get('d')
  expect(state.reads).toBe(5)
  await get('b')
  expect(state.reads).toBe(6)
})

test('a list that replaces a stale one is counted once', async () => {
  const { get, listOf, state } = create({ a: ['1'], b: ['2'] }, { maxCharacters: 6 })
  state.maxNews = 0
  for (let round = 1; round < 4; round++) {
    for (const account of ['a', 'b']) listOf(account).edits++
    for (const account of ['b', 'a', 'b', 'a']) await get(account)
    expect(state.reads).toBe(2 * round)
  }
})

test('after any changes of lists, no list is older than its request', async () => {
  const account = fc.constantFrom('a', 'b')
  const action = fc.constantFrom('add', 'add', 'remove', 'get', 'turn')
  const step = fc.record({ action, account, count: fc.integer({ min: 1, max: 4 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer({ min: 0, max: 3 }), async (steps, maxNews) => {
      const { get, add, remove, state, text } = create({}, { maxListCharacters: 30, maxCharacters: 40 })
      state.maxNews = maxNews
      let plant = 0
      for (const { action, account, count } of steps) {
        if (action === 'add') for (let each = 0; each < count; each++) add(account, String(++plant))
        if (action === 'remove') remove(account)
        if (action === 'turn') await new Promise((resolve) => setImmediate(resolve))
        if (action === 'get') expect(await get(account)).toBe(text(account))
      }
    }),
    { numRuns: 300 },
  )
})
