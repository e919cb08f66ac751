/** A contract of eight operations is served by ts-rest, and called through the SDK that is generated from it. */
import { cp } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { expectToCompile } from '../helpers/generated-sdk.ts'
import { createLibrarySdk, type LibrarySdk } from './library-sdk.ts'
import { startLibraryServer } from './server.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n
const EXACT = 9_007_199_254_740_993n

let sdk: LibrarySdk
beforeAll(async () => {
  sdk = await createLibrarySdk()
})

test('every operation has its types, both ways', async () => {
  await cp(path.join(import.meta.dirname, 'consumer/types.ts'), path.join(sdk.folder, 'src/types.ts'))
  await expectToCompile(sdk.folder)
})

test('descriptions, deprecations and examples are in the doc comments', () => {
  const types = String(sdk.generated['types.ts'])
  expect(types).toMatch(/The number of the edition\. Use `editions`\.[^/]*@deprecated[^/]*\*\/\s+isbn\?/)
  expect(types).toMatch(/Use `minPages`\.[^/]*@deprecated[^/]*\*\/\s+maxPrice\?/)
  expect(types).toMatch(/The language of the title\.[^/]*\*\/\s+'accept-language'\?/)
  expect(types).toContain('@example "Kindred"')
})

const butler = { name: 'Octavia E. Butler', born: '1947-06-22' }
const kindred = { title: 'Kindred 🌱', genre: 'novel', authors: [butler], price: 9.5, available: true }
const verse = {
  title: 'Verse',
  genre: 'poetry',
  authors: [{ name: 'A, B & C', born: null }],
  price: 1e21,
  available: false,
}

let server: Awaited<ReturnType<typeof startLibraryServer>>
beforeEach(async () => {
  server = await startLibraryServer()
})
afterEach(() => server[Symbol.asyncDispose]())

/** Calls an operation and returns its data; throws its error. */
async function call(operation: string, ...parameters: unknown[]): Promise<unknown> {
  return await sdk.createClient({ ...server, retries: 0 }).direct[operation]?.(...parameters)
}

test('a book is created, read, changed and deleted', async () => {
  const created = await call('putBook', { id: EXACT }, kindred)
  expect(created).toEqual({
    created: expect.objectContaining({ ...kindred, id: EXACT, successor: null, copies: {}, history: 0 }),
    location: `/library/books/${EXACT}`,
  })
  expect(await call('putBook', { id: EXACT }, { ...kindred, pages: 264 })).toMatchObject({ id: EXACT, pages: 264 })

  const changes = {
    subtitle: null,
    successor: MAX,
    place: { kind: 'shelf', room: 'A', board: MIN },
    copies: { 'north/1': EXACT, __proto__x: 1, south: null },
  }
  const changed = await call('updateBook', { id: EXACT }, changes)
  const copies = { 'north/1': EXACT, __proto__x: 1n, south: null }
  expect(changed).toMatchObject({ ...kindred, ...changes, copies, history: 1, pages: 264 })
  const lent = await call('updateBook', { id: EXACT }, { place: { kind: 'lent', to: '42' }, keepHistory: false })
  expect(lent).toMatchObject({ place: { kind: 'lent', to: '42' }, history: 0, successor: MAX })
  const lentById = { place: { kind: 'lent', to: 42 } }
  const { revision } = (await call('updateBook', { id: EXACT }, lentById)) as { revision: string }
  expect(await call('getBook', { id: EXACT })).toMatchObject({ revision, place: { kind: 'lent', to: 42n } })

  await expect(call('deleteBook', { id: EXACT }, { 'if-match': '"0"' })).rejects.toMatchObject({
    kind: 'api',
    status: 412,
    code: 41200,
  })
  expect(await call('deleteBook', { id: EXACT }, { 'if-match': revision })).toBeUndefined()
  await expect(call('getBook', { id: EXACT }, { 'accept-language': 'de', 'x-currency': 'eur' })).rejects.toMatchObject({
    status: 404,
  })
})

test('a search sends all filters, and none that is undefined', async () => {
  await call('putBook', { id: MAX }, kindred)
  await call('putBook', { id: 2 }, verse)
  const filters = {
    words: 'Kin d&=+%🌱',
    genres: ['novel', "children's"],
    authors: ['A, B & C', '', 'Ü'],
    ids: [MIN, 0n, MAX],
    available: false,
    minPages: 2,
    maxPrice: 1e21,
    order: 'price',
  }
  expect(await call('searchBooks', filters)).toEqual({ books: [], total: 0n, filters })
  const single = {
    words: '',
    genres: ['poetry'],
    authors: ['A, B & C'],
    ids: [2],
    order: 'title',
    minPages: undefined,
  }
  expect(await call('searchBooks', single)).toEqual({
    books: [expect.objectContaining({ id: 2n, ...verse })],
    total: 1n,
    filters: { words: '', genres: ['poetry'], authors: ['A, B & C'], ids: [2n], order: 'title' },
  })
  expect(await call('searchBooks', { words: '', ids: [], order: 'title' })).toMatchObject({ total: 2n })
})

test('counters of every form are exact', async () => {
  expect(await call('getStatistics')).toEqual({
    ...{ books: 0n, byGenre: {}, newest: null, largestLoan: 'no loans', recent: [], grid: [[], [null, null]] },
    ...{ byYear: { 2025: { bought: 0n, lost: null }, 2026: { bought: 0n, lost: null } } },
    ...{ last: null, mean: 0.5, unit: 'book', version: 2 },
  })
  await call('putBook', { id: 1 }, kindred)
  await call('putBook', { id: EXACT }, verse)
  await call('borrowBook', { book: 1, member: 'Ada' })
  const loan = MAX - 999_999n
  expect(await call('getStatistics')).toEqual({
    ...{ books: 2n, byGenre: { novel: 1n, poetry: EXACT }, newest: EXACT, largestLoan: loan, recent: [1n, EXACT] },
    ...{ byYear: { 2025: { bought: 0n, lost: null }, 2026: { bought: EXACT, lost: EXACT } } },
    ...{
      grid: [
        [1n, EXACT],
        [null, EXACT],
      ],
      last: { loan },
      mean: 0.5,
      unit: 'book',
      version: 2,
    },
  })
})

test('loans are created and listed', async () => {
  await call('putBook', { id: EXACT }, kindred)
  const loans = []
  for (const member of ['Ada', 'Bo', 'Ada'])
    loans.push(await call('borrowBook', { book: EXACT, member }, { 'x-desk': 7 }))
  expect(loans[2]).toEqual({
    ...{ id: MAX - 999_997n, book: EXACT, member: 'Ada', returned: null },
    due: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
  })
  expect(await call('listLoans')).toEqual(loans)
  expect(await call('listLoans', { limit: 1, member: 'Bo' })).toEqual([loans[1]])
  await expect(call('borrowBook', { book: 5, member: 'Ada' })).rejects.toMatchObject({ kind: 'api', status: 404 })
})

test('a wrong token is rejected', async () => {
  await expect(call('getBook', { id: 1 }, undefined, { token: 'pst_wrong' })).rejects.toMatchObject({ status: 401 })
})

test.each([
  ['getBook', [{ id: 2 ** 53 }], 'id: must be a bigint or a safe integer'],
  ['getBook', [{}], 'id: is required'],
  ['getBook', [{ id: MAX + 1n }], 'id: must be between'],
  ['getBook', [{ id: 1 }, { 'x-currency': 'chf' }], 'x-currency: must be one of'],
  ['deleteBook', [{ id: 1 }, { 'if-match': 'a\nb' }], 'if-match: must be'],
  ['deleteBook', [{ id: 1 }], 'if-match: is required'],
  ['borrowBook', [{ book: 1, member: 'Ada' }, { 'x-desk': 1.5 }], 'x-desk: must be an integer'],
  ['searchBooks', [{ order: 'title' }], 'words: is required'],
  ['searchBooks', [{ words: '', order: 'title', genres: 'novel' }], 'genres: must be an array'],
  ['searchBooks', [{ words: '', order: 'title', genres: ['drama'] }], 'genres[0]: must be one of'],
  ['searchBooks', [{ words: '', order: 'title', available: 'yes' }], 'available: must be a boolean'],
  ['putBook', [{ id: 1 }, { ...kindred, price: Number.NaN }], 'price: must be a number'],
  ['putBook', [{ id: 1 }, { ...kindred, authors: [{ name: 'a', born: 1 }] }], 'authors[0].born: '],
  ['putBook', [{ id: 1 }, { ...kindred, title: '\uD800' }], 'title: must not contain'],
  ['updateBook', [{ id: 1 }, { copies: { north: 0.5 } }], 'copies.north: '],
  ['updateBook', [{ id: 1 }, { place: { kind: 'cellar' } }], 'place: '],
])('%s with an invalid value is not sent', async (operation, parameters, reason) => {
  await expect(call(operation, ...parameters)).rejects.toMatchObject({ kind: 'usage', attempts: 0 })
  await expect(call(operation, ...parameters)).rejects.toThrow(reason)
})
test('what the server rejects is an error of the contract', async () => {
  await expect(call('borrowBook', { book: 1, member: 'Ada', days: 91 })).rejects.toMatchObject({
    kind: 'api',
    code: 40002,
    message: expect.stringContaining('days'),
  })
})

test('a header parameter overrides the header of the options, which apply without it', async () => {
  const sent: unknown[] = []
  const fetch = async (_: string, init: RequestInit) => {
    sent.push(new Headers(init.headers).get('x-currency'))
    throw new Error('not sent')
  }
  const options = { headers: { 'X-Currency': 'usd' }, fetch, retries: 0 }
  const { safe } = sdk.createClient({ ...options, baseUrl: 'http://localhost', token: 'pst_test' })
  await safe['getBook']?.({ id: 1 }, { 'x-currency': 'eur' })
  await safe['getBook']?.({ id: 1 }, { 'x-currency': 'eur' }, { headers: { 'x-currency': 'gbp' } })
  await safe['getBook']?.({ id: 1 }, { 'x-currency': undefined })
  expect(sent).toEqual(['eur', 'eur', 'usd'])
})

test('raw has the status of each success, and safe the data or the error', async () => {
  const { raw, safe } = sdk.createClient(server)
  expect(await safe['listLoans']?.()).toEqual({ ok: true, data: [] })
  expect(await safe['getBook']?.({ id: 1 })).toMatchObject({ ok: false, error: { kind: 'api', status: 404 } })
  expect(await raw['putBook']?.({ id: 1 }, kindred)).toMatchObject({ status: 201, attempts: 1 })
  expect(await raw['putBook']?.({ id: 1 }, kindred)).toMatchObject({ status: 200 })
  expect(await raw['deleteBook']?.({ id: 1 }, { 'if-match': '"2"' })).toMatchObject({ status: 204, data: undefined })
})

test('iterate follows the pages to the end', async () => {
  const { direct, raw, iterate } = sdk.createClient(server)
  await direct['putBook']?.({ id: EXACT }, kindred)
  for (const member of ['Ada', 'Bo', 'Ada', 'Ada', 'Ada']) await direct['borrowBook']?.({ book: EXACT, member })
  const ids: unknown[] = []
  const loans = iterate['listLoans']?.({ limit: 2, member: 'Ada' }) as unknown as AsyncIterable<{ id: bigint }>
  for await (const { id } of loans) ids.push(id)
  expect(ids).toEqual([0n, 2n, 3n, 4n].map((index) => MAX - 999_999n + index))
  expect(await raw['listLoans']?.({ limit: 2 })).toMatchObject({ nextCursor: '2' })
  expect(await raw['listLoans']?.({ limit: 9 })).toMatchObject({ nextCursor: undefined })
})
