/** A contract of six operations is served by ts-rest, and called through the SDK that is generated from it. */
import { cp } from 'node:fs/promises'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { contract, ErrorSchema } from '@plant-store/contract'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as z from 'zod'
import { generate } from '../../generator/generate.ts'
import { createProject, expectToCompile } from '../helpers/generated-sdk.ts'
import { createSdk, FIRST_LOAN, library, startLibraryServer } from './library.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n
const EXACT = 9_007_199_254_740_993n

let sdk: Awaited<ReturnType<typeof createSdk>>
let server: Awaited<ReturnType<typeof startLibraryServer>>
beforeAll(async () => {
  sdk = await createSdk(library)
  server = await startLibraryServer()
})
afterAll(() => server[Symbol.asyncDispose]())

/** Calls an operation and returns its data; throws its error. */
async function call(operation: string, ...parameters: unknown[]): Promise<unknown> {
  return await sdk.createClient({ ...server, retries: 0 })[operation]?.(...parameters)
}

const kindred = { title: 'Kindred 🌱', genre: 'novel', authors: [{ name: 'A, B & C', born: null }], price: 1e21 }

test('every operation has its types, both ways', async () => {
  await cp(path.join(import.meta.dirname, 'consumer/types.ts'), path.join(sdk.folder, 'src/types.ts'))
  await expectToCompile(sdk.folder)
})

test('a book is created, replaced and deleted, with every kind of value', async () => {
  const copies = { 'north/1': EXACT, __proto__x: 1n, south: null }
  const book = { ...kindred, subtitle: null, successor: MAX, place: { kind: 'shelf', board: MIN }, copies }
  expect(await call('putBook', { id: EXACT }, book)).toEqual({
    created: { ...book, id: EXACT, revision: '"1"' },
    location: `/library/books/${EXACT}`,
  })
  for (const to of ['42', 42n]) {
    const place = { kind: 'lent', to }
    expect(await call('putBook', { id: EXACT }, { ...kindred, place })).toMatchObject({ id: EXACT, place })
  }
  const deleted = (revision: string) => call('deleteBook', { id: EXACT }, { 'if-match': revision })
  await expect(deleted('"0"')).rejects.toMatchObject({ kind: 'api', status: 412, code: 41200 })
  expect(await deleted('"2"')).toBeUndefined()
  await expect(deleted('"2"')).rejects.toMatchObject({ kind: 'api', status: 404 })
})

test('a search sends all filters, and none that is undefined', async () => {
  const filters = {
    ...{ words: 'Kin d&=+%🌱', genres: ['novel', "children's"], authors: ['A, B & C', '', 'Ü'], ids: [MIN, 0n, MAX] },
    ...{ available: false, minPages: 2, maxPrice: 1e21, order: 'price' },
  }
  expect(await call('searchBooks', filters)).toEqual(filters)
  const single = { words: '', genres: ['poetry'], ids: [2n], order: 'title' }
  expect(await call('searchBooks', { ...single, authors: [], minPages: undefined })).toEqual(single)
})

test.each([
  ['putBook', [{ id: 2 ** 53 }, kindred], 'id: must be a bigint or a safe integer'],
  ['putBook', [{}, kindred], 'id: is required'],
  ['putBook', [{ id: MAX + 1n }, kindred], 'id: must be between'],
  ['putBook', [{ id: 1 }, kindred, { 'x-currency': 'chf' }], 'x-currency: must be one of'],
  ['putBook', [{ id: 1 }, { ...kindred, price: Number.NaN }], 'price: must be a number'],
  ['putBook', [{ id: 1 }, { ...kindred, authors: [{ name: 'a', born: 1 }] }], 'authors[0].born: '],
  ['putBook', [{ id: 1 }, { ...kindred, title: '\uD800' }], 'title: must not contain'],
  ['putBook', [{ id: 1 }, { ...kindred, copies: { north: 0.5 } }], 'copies.north: '],
  ['putBook', [{ id: 1 }, { ...kindred, place: { kind: 'cellar' } }], 'place: '],
  ['deleteBook', [{ id: 1 }, { 'if-match': 'a\nb' }], 'if-match: must be'],
  ['deleteBook', [{ id: 1 }], 'if-match: is required'],
  ['borrowBook', [{ book: 1, member: 'Ada' }, { 'x-desk': 1.5 }], 'x-desk: must be an integer'],
  ['searchBooks', [{ words: '', order: 'title', genres: 'novel' }], 'genres: must be an array'],
  ['searchBooks', [{ words: '', order: 'title', genres: ['drama'] }], 'genres[0]: must be one of'],
  ['searchBooks', [{ words: '', order: 'title', available: 'yes' }], 'available: must be a boolean'],
])('%s with an invalid value is not sent', async (operation, parameters, reason) => {
  const error = await call(operation, ...parameters).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ kind: 'usage', attempts: 0, message: expect.stringContaining(reason) })
})

test('a header parameter overrides the header of the options, which apply without it', async () => {
  const sent: unknown[] = []
  const fetch = async (_: string, init: RequestInit) => {
    sent.push(new Headers(init.headers).get('x-currency'))
    throw new Error('not sent')
  }
  const { safe } = sdk.createClient({ ...server, headers: { 'X-Currency': 'usd' }, fetch, retries: 0 })
  await safe['putBook']?.({ id: 1 }, kindred, { 'x-currency': 'eur' }, { headers: { 'x-currency': 'gbp' } })
  await safe['putBook']?.({ id: 1 }, kindred, { 'x-currency': undefined })
  expect(sent).toEqual(['eur', 'usd'])
})

test('raw has the status of each success, safe the data or the error, and iterate follows the pages', async () => {
  const { raw, safe, iterate } = sdk.createClient(server)
  expect(await raw['putBook']?.({ id: 5 }, kindred)).toMatchObject({ status: 201, attempts: 1 })
  expect(await raw['putBook']?.({ id: 5 }, kindred)).toMatchObject({ status: 200 })
  const tooLong = await safe['borrowBook']?.({ book: 5, member: 'Ada', days: 91 })
  const error = { kind: 'api', code: 40002, message: expect.stringContaining('days') }
  expect(tooLong).toMatchObject({ ok: false, error })

  for (const member of ['Ada', 'Bo', 'Ada', 'Ada']) await safe['borrowBook']?.({ book: 5, member }, { 'x-desk': 7 })
  const loans = iterate['listLoans']?.({ limit: 2, member: 'Ada' }) as unknown as AsyncIterable<{ id: bigint }>
  const ids: bigint[] = []
  for await (const { id } of loans) ids.push(id - FIRST_LOAN)
  expect(ids).toEqual([0n, 2n, 3n])
  expect(await raw['listLoans']?.({ limit: 2 })).toMatchObject({ nextCursor: '2' })
  expect(await safe['listLoans']?.({ limit: 9 })).toMatchObject({ ok: true, data: { length: 4 } })
})

/** Bundles the SDK of a contract as an app would, and returns it minified. */
async function bundle(operations: Record<string, unknown>): Promise<string> {
  const folder = await createProject(generate(operations))
  const contents = `export { createPlantStoreClient } from './index.ts'`
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: path.join(folder, 'src') },
    ...{ bundle: true, minify: true, platform: 'browser', format: 'esm', write: false },
  })
  return outputFiles[0]?.text ?? ''
}

test('a bundle has what its contract needs and no more: the exact reader only for an int64 in a response', async () => {
  const responses = { 200: z.object({ count: z.int64() }), 500: ErrorSchema }
  const getCount = { method: 'GET', path: '/count', responses, metadata: { scope: 'read' } }
  const bundles = await Promise.all([{ ...contract }, { ...contract, getCount }, library].map(bundle))
  const sizes = bundles.map((text) => gzipSync(text, { level: 9 }).length)
  console.log(`bundles: ${sizes.join(', ')} B gzip`)
  expect(bundles.map((text) => text.includes('must be an int64'))).toEqual([false, true, true])
  for (const [index, limit] of [6000, 6550, 7500].entries()) expect(sizes[index]).toBeLessThanOrEqual(limit)
})
