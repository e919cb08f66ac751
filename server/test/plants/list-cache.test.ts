import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { createListCache, type LimitRead, type ListCacheOptions } from '../../src/plants/list-cache.ts'

/** Creates a cache of the lists in an object, and counts what it reads. */
function create(lists: Record<string, string[]>, options: Partial<ListCacheOptions> = {}) {
  const state = { version: 1, versions: 0, reads: 0, limited: 0 }
  const cache = createListCache({
    maxListCharacters: 100,
    maxCharacters: 1_000,
    readVersion: async () => {
      state.versions++
      return state.version
    },
    readList: async (account) => {
      state.reads++
      return pieces(lists[account] ?? ['[]'])
    },
    ...options,
  })
  const limitRead: LimitRead = (read) => {
    state.limited++
    return read()
  }
  const get = async (account: string) => textOf(await cache.get(account, limitRead))
  return { cache, ...cache, get, getRaw: (account: string) => cache.get(account, limitRead), state }
}

async function* pieces(texts: readonly string[]): AsyncGenerator<string, undefined> {
  yield* texts
}

async function textOf(list: Buffer | AsyncIterator<string>): Promise<string> {
  if (Buffer.isBuffer(list)) return list.toString()
  let text = ''
  for (let next = await list.next(); !next.done; next = await list.next()) text += next.value
  return text
}

test('a list is read once while the version stays the same, and its bytes are shared', async () => {
  const { getRaw, state } = create({ alice: ['["', 'é', '"]'] })
  const first = await getRaw('alice')
  expect(String(first)).toBe('["é"]')
  expect(await getRaw('alice')).toBe(first)
  expect(state).toMatchObject({ reads: 1, limited: 1, versions: 2 })
})

test('a list is read again after the version has changed', async () => {
  const lists = { alice: ['[1]'] }
  const { get, state } = create(lists)
  await get('alice')
  lists.alice = ['[2]']
  expect(await get('alice')).toBe('[1]')
  state.version = 2
  expect(await get('alice')).toBe('[2]')
  expect(state.reads).toBe(2)
})

test('requests in one turn share a read of the version and of the list', async () => {
  const { get, state } = create({ alice: ['[1]'], bob: ['[2]'] })
  expect(await Promise.all(['alice', 'bob'].map(get))).toEqual(['[1]', '[2]'])
  expect(state).toMatchObject({ versions: 1, reads: 2 })
  await Promise.all(['alice', 'bob'].map(get))
  expect(state).toMatchObject({ versions: 2, reads: 2 })
})

test('a request that waited for its read finds what another has read meanwhile', async () => {
  const { getRaw, state, cache } = create({ alice: ['[1]'] })
  let allow = () => {}
  const allowed = new Promise<void>((resolve) => {
    allow = resolve
  })
  const waiting = cache.get('alice', async (read) => {
    await allowed
    return read()
  })
  const first = await getRaw('alice')
  allow()
  expect(await waiting).toBe(first)
  expect(state.reads).toBe(1)
})

test('a version that cannot be read fails the requests of its turn only', async () => {
  const readVersion = vi.fn(async () => 1).mockRejectedValueOnce(new Error('locked'))
  const { get } = create({}, { readVersion })
  await expect(get('alice')).rejects.toThrow('locked')
  expect(await get('alice')).toBe('[]')
})

test('plants are appended to a cached list, also to an empty one, and to no other', async () => {
  const { get, append, state } = create({ alice: ['[{"name":"é"}]'], bob: ['[]'], carol: ['[3]'] })
  await Promise.all(['alice', 'bob'].map(get))
  for (const account of ['alice', 'bob', 'carol']) append(account, '{"name":"ü"},{"name":"x"}')
  append('bob', '{"name":"y"}')
  expect(await get('alice')).toBe('[{"name":"é"},{"name":"ü"},{"name":"x"}]')
  expect(await get('bob')).toBe('[{"name":"ü"},{"name":"x"},{"name":"y"}]')
  expect(state.reads).toBe(2)
  expect(await get('carol')).toBe('[3]')
})

test('a deleted list is read again', async () => {
  const { get, state, cache } = create({ alice: ['[1]'] })
  await get('alice')
  cache.delete('alice')
  cache.delete('alice')
  expect(await get('alice')).toBe('[1]')
  expect(state.reads).toBe(2)
})

test.each(['before', 'during'])('a list is not cached if a write begins %s its read', async (when) => {
  let finishRead = () => {}
  let finishWrite = () => {}
  const reading = new Promise<void>((resolve) => {
    finishRead = resolve
  })
  const { get, write, state } = create(
    {},
    {
      readList: async () => {
        state.reads++
        await reading
        return pieces(['[1]'])
      },
    },
  )
  const startWrite = () =>
    write(
      () =>
        new Promise<string>((resolve) => {
          finishWrite = () => resolve('written')
        }),
    )
  let written = when === 'before' ? startWrite() : undefined
  const listed = get('alice')
  await expect.poll(() => state.reads).toBe(1)
  written ??= startWrite()
  finishWrite()
  expect(await written).toBe('written')
  finishRead()
  expect(await listed).toBe('[1]')

  // Read again, now without a write, and then cached.
  await get('alice')
  await get('alice')
  expect(state.reads).toBe(2)
})

test('a write that fails passes its error on, and lists are cached again', async () => {
  const { get, write, state } = create({})
  await expect(write(() => Promise.reject(new Error('full')))).rejects.toThrow('full')
  await get('alice')
  await get('alice')
  expect(state.reads).toBe(1)
})

test('a list up to the size limit is cached, a longer one is returned in pieces', async () => {
  const { getRaw, state } = create({ fits: ['[12', '34]'], long: ['[12', '345]', '!'] }, { maxListCharacters: 6 })
  expect(Buffer.isBuffer(await getRaw('fits'))).toBe(true)
  await getRaw('fits')
  expect(state.reads).toBe(1)

  const long = await getRaw('long')
  expect(Buffer.isBuffer(long)).toBe(false)
  expect(await textOf(long)).toBe('[12345]!')
  await getRaw('long')
  expect(state.reads).toBe(3)
})

test.each([6, 100])(
  'a list that grows beyond the size limit is removed from a cache of %i bytes',
  async (maxCharacters) => {
    const { get, append, state } = create({ alice: ['[12]'] }, { maxListCharacters: 6, maxCharacters })
    await get('alice')
    append('alice', '3')
    expect(await get('alice')).toBe('[12,3]')
    append('alice', '4')
    await get('alice')
    expect(state.reads).toBe(2)
  },
)

test('the least recently used lists are removed first, and no more than needed', async () => {
  const lists = { a: ['[1]'], b: ['[2]'], c: ['[3]'], d: ['[4]'] }
  const { get, append, state } = create(lists, { maxCharacters: 9 })
  for (const account of ['a', 'b', 'c', 'a', 'd']) await get(account)
  expect(state.reads).toBe(4)
  for (const account of ['c', 'a', 'd']) await get(account)
  expect(state.reads).toBe(4)
  await get('b')
  expect(state.reads).toBe(5)

  // "a", "d" and "b" are cached. Growing "d" removes "a" and then "b", which leaves room for "c".
  append('d', '5,6,7')
  await nextTurn()
  expect(await get('d')).toBe('[4,5,6,7]')
  expect(state.reads).toBe(5)
  await get('b')
  expect(state.reads).toBe(6)
})

test('a list that replaces a stale one is counted once, as the most recently used', async () => {
  const { get, state } = create({ a: ['[1]'], b: ['[2]'], c: ['[3]'] }, { maxCharacters: 6 })
  for (const account of ['a', 'b']) await get(account)
  state.version = 2
  for (const account of ['b', 'a']) await get(account)
  expect(state.reads).toBe(4)
  for (const account of ['b', 'a']) await get(account)
  expect(state.reads).toBe(4)

  state.version = 3
  for (const account of ['b', 'a', 'c', 'a']) await get(account)
  expect(state.reads).toBe(7)
})
