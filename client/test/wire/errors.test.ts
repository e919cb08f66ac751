/** Errors and their fields. */
import { inspect } from 'node:util'
import { expect, test, vi } from 'vitest'
import * as sdk from '../../src/index.ts'
import { ApiError, createPlantStoreClient, PlantStoreError, UsageError } from '../../src/index.ts'
import { createFakePlantStore, type Fault } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

// A second copy of the package, as in an app whose dependencies each bring their own.
vi.resetModules()
const copy: typeof sdk = await import('../../src/index.ts')

/** An error of each class: its kind, whether the client retries it, and what causes it. */
const failures: [keyof typeof sdk, kind: string, retryable: boolean, fault: Fault, options?: sdk.CallOptions][] = [
  ['ApiError', 'api', false, { status: 400 }],
  ['MalformedResponseError', 'malformed-response', false, { status: 200, body: '<h1>' }],
  ['ConnectionError', 'connection', true, new TypeError('fetch failed')],
  ['TimeoutError', 'timeout', true, { delay: 60_000 }, { timeout: 50 }],
  ['AbortError', 'aborted', false, { delay: 0 }, { signal: AbortSignal.abort() }],
  ['TokenError', 'token', true, { delay: 0 }, { token: () => expect.fail('vault is sealed') }],
  ['UsageError', 'usage', false, { delay: 0 }, { timeout: 0 }],
]
/** Returns the names of the classes that a value is an instance of. */
const classesOf = (value: unknown) =>
  failures.map(([name]) => name).filter((name) => value instanceof Object(Reflect.get(sdk, name)))

test.each(failures)('%s has the kind %s, also in another copy of the package', async (...row) => {
  const [name, kind, retryable, fault, options] = row
  expect(copy.ApiError).not.toBe(ApiError)
  for (const { createPlantStoreClient } of [sdk, copy]) {
    const store = createFakePlantStore()
    store.failNext(fault)
    const call = createPlantStoreClient({ ...store, retries: 0 }).getPlants({}, options)
    const error = await failureOf(call, PlantStoreError)
    expect(error).toMatchObject({ name, kind, retryable })
    expect(error).toBeInstanceOf(Error)
    expect(classesOf(error)).toEqual(kind === 'timeout' ? ['ConnectionError', 'TimeoutError'] : [name])
    expect(String(error)).toMatch(new RegExp(`^${name}: GET http://plant-store.test/plants: `))
    // That of an `ApiError` is the text of the service alone.
    if (kind !== 'api') expect(error.message).toBe(`GET http://plant-store.test/plants: ${error.detail}`)
  }
})

test('other values, and errors of a class that an app derives, are not instances of them', () => {
  for (const value of [null, undefined, 'ApiError', {}, new Error('no'), { name: 'ApiError' }]) {
    expect(value).not.toBeInstanceOf(PlantStoreError)
    expect(classesOf(value)).toEqual([])
  }
  class LeafError extends UsageError {}
  expect(new LeafError([])).toBeInstanceOf(UsageError)
  expect([new LeafError([]), new UsageError([])].map((error) => error instanceof LeafError)).toEqual([true, false])
})

test('an ApiError has the response, the request and the stack, and is safe to log: toJSON has no headers and no cause', async () => {
  const store = createFakePlantStore()
  store.failNext({ status: 429, headers: { 'retry-after': '61', 'set-cookie': 'session=secret' } })
  async function callOfMine() {
    await createPlantStoreClient(store).createPlant({ id: 1, name: 'Ficus' })
  }
  const error = await failureOf(callOfMine(), ApiError)
  expect(error.stack).toContain('callOfMine')
  const detail = 'Too many requests. Retry after the number of seconds in `Retry-After`.'
  const message = `POST http://plant-store.test/plants: responded 429 (42900): ${detail}`
  const requestId = error.headers.get('x-request-id')
  expect(requestId).toBeTruthy()
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    ...{ name: 'ApiError', kind: 'api', message, detail, retryable: false, attempts: 1 },
    ...{ method: 'POST', url: 'http://plant-store.test/plants', status: 429, code: 42900 },
    ...{ body: { error: 42900, message: detail }, issues: [], requestId, retryAfterMs: 61_000 },
  })
  expect(error.headers.get('set-cookie')).toBe('session=secret')
  expect(inspect(error)).not.toContain('secret')
  expect(inspect({ ...error })).not.toContain('secret')
})

test('the message of an error has the start of a long URL, and its url all of it', async () => {
  const cursor = 'c'.repeat(60_000)
  const error = await failureOf(createPlantStoreClient(createFakePlantStore()).getPlants({ cursor }), ApiError)
  expect(error.url).toBe(`http://plant-store.test/plants?cursor=${cursor}`)
  expect(error.message).toBe(`GET ${error.url?.slice(0, 200)}…: responded 400 (40004): ${error.detail}`)
})

test('safe never throws, and has the status and the request id, without a cast', async () => {
  const store = createFakePlantStore()
  const { safe } = createPlantStoreClient({ ...store, retries: 0 })
  const hostile = { get id(): number { throw new Error('no id') }, name: 'Ficus' } // biome-ignore format: one line
  expect(await safe.createPlant(hostile)).toMatchObject({ error: { kind: 'usage', cause: { message: 'no id' } } })
  expect(await safe.getPlants(1 as never)).toMatchObject({ ok: false, error: { kind: 'usage' } })
  expect(await safe.getPlants({}, null as never)).toMatchObject({ ok: true, data: [], status: 200 })
  store.failNext({ error: 'unavailable', headers: { 'x-request-id': 'abc' } })
  expect(await safe.getPlants()).toMatchObject({ ok: false, status: 503, requestId: 'abc' })
})

const taken = 'is taken by another plant of this account. Choose another id.'
const two = [{ path: 'tags.1', message: 'must be a string' }, { path: 'name', message: 'is required' }] // biome-ignore format: one line
test.each<[name: sdk.ErrorName, message: string, issues: readonly sdk.Issue[]]>([
  ['idTaken', `id: ${taken}`, [{ path: 'id', message: taken }]],
  ['invalidBody', 'tags.1: must be a string; name: is required; and 2 more', two],
  ['invalidQuery', 'tags.1: must be a string; name: is required', two],
  // More would block the app.
  ['invalidBody', 'a: b; '.repeat(1000), Array(100).fill({ path: 'a', message: 'b' })],
  ['invalidBody', 'The body must be an object', []],
  ['malformedJson', 'position: 5', []],
])('the issues of %s name each field: %.99s', async (name, message, issues) => {
  const store = createFakePlantStore()
  store.failNext({ status: 400, body: JSON.stringify({ error: sdk.errorCodes[name], message }) })
  expect((await createPlantStoreClient(store).safe.getPlants()).error).toMatchObject({ kind: 'api', issues })
})
