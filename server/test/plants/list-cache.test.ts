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
function create(options: Partial<ListCacheOptions> = {}) {
  const state = { changes: 0, reads: 0, limited: 0, maxNews: 100, late: '' }
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
    if (first !== undefined && list.plants.delete(first)) list.edits++
  }

  const lastOf = (account: string) => Math.max(0, ...listOf(account).plants.keys())
  const changeOf = ({ account, last }: KnownList): ListChange => {
    const { edits, plants } = listOf(account)
    const news = [...plants].filter(([each]) => each > last).map(([, plant]) => plant)
    return { edits, last: lastOf(account), json: news.length > state.maxNews ? undefined : news.join() }
  }
  const text = (account: string) => `[${[...listOf(account).plants.values()].join()}]`

  const cache = createListCache({
    maxListCharacters: 100,
    maxCharacters: 1_000,
    readChanges: async (known) => {
      state.changes++
      return known.map(changeOf)
    },
    readList: async (account) => {
      state.reads++
      return { pieces: pieces(text(account).slice(0, -1), ']'), last: lastOf(account), more: false }
    },
    ...options,
  })
  const limitRead: LimitRead = (read) => {
    state.limited++
    if (state.late !== '') add('a', state.late)
    state.late = ''
    return read()
  }
  const getRaw = (account: string) => cache.get(account, limitRead)
  const get = async (account: string) => textOf(await getRaw(account))
  return { cache, get, getRaw, state, add, remove, text, listOf, lastOf }
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

/**
 * Steps: `bytes ACCOUNT TEXT READS` and `pieces ACCOUNT TEXT READS` get a list, its text, and how many lists were read until
 * then, each within the limits of its request. `late` adds a plant while a list is read, and `rewind` puts the database back to
 * an earlier time.
 */
const CASES: Record<string, string> = {
  'added plants are appended': 'add a 1; bytes a [1] 0; add a 2; add a 3; bytes a [1,2,3] 0; bytes a [1,2,3] 0',
  'also if it was edited before its first request': 'edit a; add a 1; bytes a [1] 0; add a 2; bytes a [1,2] 0',
  'and to an empty list': 'bytes a [] 0; add a 4; bytes a [4] 0; add a 5; bytes a [4,5] 0',
  'an edited list is read again, and then cached':
    'add a 1,2; bytes a [1,2] 0; remove a; add a 3; bytes a [2,3] 1; bytes a [2,3] 1',
  'a list whose last plant is gone is read again':
    'add a 1; bytes a [1] 0; remove a; bytes a [] 1; add a 2; bytes a [2] 1',
  'so is one of a database put back to an earlier time':
    'add a 1,2; bytes a [1,2] 0; rewind a; bytes a [1] 1; add a 3; bytes a [1,3] 1',
  'what was added while a list was read is not appended again':
    'add a 1,2; news 1; late a 3; bytes a [1,2,3] 1; bytes a [1,2,3] 1; add a 4; bytes a [1,2,3,4] 1',
  'too much news is read, and then cached': 'add a 1,2; news 1; bytes a [1,2] 1; add a 3; bytes a [1,2,3] 1',
  'a list up to the size limit is cached, a longer one is returned in pieces':
    'max 6 1000; add a 12,4; add b 12,345; news 0; bytes a [12,4] 1; bytes a [12,4] 1; pieces b [12,345] 2; pieces b [12,345] 3',
  ...Object.fromEntries(
    [6, 100].map((max) => [
      `a list that outgrows the size limit leaves a cache of ${max} characters`,
      `max 6 ${max}; add a 12,3; bytes a [12,3] 0; add a 4; bytes a [12,3,4] 0; news 2; pieces a [12,3,4] 1`,
    ]),
  ),
  // In the end "a", "d" and "b" are cached. Growing "d" removes "a" and then "b".
  'the least recently used lists are removed first, and no more than needed':
    'max 100 11; add a 1; add b 2; add c 3; add d 4; news 0; bytes a [1] 1; bytes b [2] 2; bytes c [3] 3; bytes a [1] 3; ' +
    'bytes d [4] 4; bytes c [3] 4; bytes a [1] 4; bytes d [4] 4; bytes b [2] 5; news 3; add d 5,6,7; bytes d [4,5,6,7] 5; ' +
    'news 0; bytes d [4,5,6,7] 5; bytes b [2] 6',
  'a list that replaces a stale one is counted once':
    'max 100 6; add a 1; add b 2; news 0; bytes b [2] 1; bytes a [1] 2; edit a; edit b; bytes b [2] 3; bytes a [1] 4; ' +
    'bytes b [2] 4; edit a; edit b; bytes b [2] 5; bytes a [1] 6; bytes b [2] 6; bytes a [1] 6',
}

test.each(Object.entries(CASES))('%s', async (_title, script) => {
  const [, maxListCharacters = 100, maxCharacters = 1_000] = /^max (\d+) (\d+)/.exec(script)?.map(Number) ?? []
  const { getRaw, add, remove, listOf, lastOf, state } = create({ maxListCharacters, maxCharacters })
  for (const [action, account = '', value = '', reads] of script.split('; ').map((step) => step.split(' '))) {
    if (action === 'add') add(account, ...value.split(','))
    else if (action === 'remove') remove(account)
    else if (action === 'edit') listOf(account).edits++
    else if (action === 'rewind') listOf(account).plants.delete(lastOf(account))
    else if (action === 'late') state.late = value
    else if (action === 'news') state.maxNews = Number(account)
    else if (action !== 'max') {
      const list = await getRaw(account)
      expect([Buffer.isBuffer(list) ? 'bytes' : 'pieces', await textOf(list)]).toEqual([action, value])
      expect([state.reads, state.limited]).toEqual([Number(reads), Number(reads)])
    }
  }
})

test('requests share the bytes of a list that has not changed, and in one turn what they read', async () => {
  const { getRaw, get, add, state } = create()
  add('alice', '"é"')
  add('bob', '2')
  const first = await getRaw('alice')
  expect(String(first)).toBe('["é"]')
  expect(await getRaw('alice')).toBe(first)
  expect(await Promise.all(['alice', 'bob', 'alice'].map(get))).toEqual(['["é"]', '[2]', '["é"]'])
  expect(state).toMatchObject({ reads: 0, limited: 0, changes: 3 })
  add('alice', '3')
  const [one, other] = await Promise.all(['alice', 'alice'].map(getRaw))
  expect(one).toBe(other)
  expect(state.changes).toBe(4)
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
  const waitFor = () => {
    const { allowed, allow } = createPermission()
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
  const { get } = create({ readChanges })
  await expect(Promise.all([get('alice'), get('alice')])).rejects.toThrow('locked')
  expect(await get('alice')).toBe('[]')
})

/** Creates a cache that waits for the changes of each turn, and a function that begins one and returns its list. */
function createWaiting(options: Partial<ListCacheOptions> = {}) {
  const responses: ((changes: ListChange[]) => void)[] = []
  const { cache } = create({ readChanges: () => new Promise((resolve) => responses.push(resolve)), ...options })
  const begin = async (limitRead: LimitRead = (read) => read()) => {
    const turn = responses.length
    const list = cache.get('alice', limitRead).then(textOf)
    await expect.poll(() => responses.length).toBe(turn + 1)
    return { list, respond: (change: ListChange) => responses[turn]?.([change]) }
  }
  return begin
}

test('what an older turn has read never hides what a newer one has', async () => {
  const begin = createWaiting()
  const [older, newer] = [await begin(), await begin()]
  newer.respond({ edits: 0, last: 2, json: '1,2' })
  expect(await newer.list).toBe('[1,2]')
  older.respond({ edits: 0, last: 1, json: '1' })
  expect(await older.list).toBe('[1]')
  const last = await begin()
  last.respond({ edits: 0, last: 2, json: '2' })
  expect(await last.list).toBe('[1,2]')
})

test.each([
  ['an edited list', { edits: 1, last: 2 }, { edits: 0, last: 2, json: '1,2' }],
  ['a list with too much news', { edits: 0, last: 2 }, { edits: 0, last: 1, json: '1' }],
])('%s is read again, also if an older turn has cached it meanwhile', async (_what, change, before) => {
  const begin = createWaiting({ readList: async () => ({ pieces: pieces('[2]'), last: 2, more: false }) })
  const { allowed, allow } = createPermission()
  const [older, newer] = [await begin(), await begin((read) => allowed.then(read))]
  newer.respond({ ...change, json: undefined })
  older.respond(before)
  expect(await older.list).toBe(`[${before.json}]`)
  allow()
  expect(await newer.list).toBe('[2]')
})

test('after any changes of lists, no list is older than its request', async () => {
  const account = fc.constantFrom('a', 'b')
  const action = fc.constantFrom('add', 'add', 'remove', 'get', 'turn')
  const step = fc.record({ action, account, count: fc.integer({ min: 1, max: 4 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer({ min: 0, max: 3 }), async (steps, maxNews) => {
      const { get, add, remove, state, text } = create({ maxListCharacters: 30, maxCharacters: 40 })
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
