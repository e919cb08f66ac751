/** Errors and their fields. */
import { inspect } from 'node:util'
import { expect, test, vi } from 'vitest'
import * as sdk from '../../src/index.ts'
import { ApiError, createPlantStoreClient, PlantStoreError, TokenError, UsageError } from '../../src/index.ts'
import { createApiError, createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

// A second copy of the package, as in an app whose dependencies each bring their own.
vi.resetModules()
const copy: typeof sdk = await import('../../src/index.ts')

/** Returns an error of every class, thrown by one copy of the package. */
async function errorsOf({ createPlantStoreClient }: typeof sdk): Promise<PlantStoreError[]> {
  const store = createFakePlantStore()
  const client = createPlantStoreClient({ ...store, retries: 0 })
  const thrown: unknown[] = []
  const collect = (error: unknown) => void thrown.push(error)
  for (const fault of [{ status: 400 }, { status: 200, body: '<h1>' }, new TypeError('fetch failed')]) {
    store.failNext(fault)
    await client.getPlants().catch(collect)
  }
  store.failNext({ delay: 60_000 })
  await client.getPlants({}, { timeout: 50 }).catch(collect)
  await client.getPlants({}, { signal: AbortSignal.abort() }).catch(collect)
  await client.getPlants({}, { token: () => Promise.reject(new Error('vault is sealed')) }).catch(collect)
  await client.getPlants({}, { token: '' }).catch(collect)
  return thrown as PlantStoreError[]
}

/** The class of each of these errors, its kind, and whether the client retries it. */
const expectedErrors: [name: keyof typeof sdk, kind: string, retryable: boolean][] = [
  ['ApiError', 'api', false],
  ['MalformedResponseError', 'malformed-response', false],
  ['ConnectionError', 'connection', true],
  ['TimeoutError', 'timeout', true],
  ['AbortError', 'aborted', false],
  ['TokenError', 'token', true],
  ['UsageError', 'usage', false],
]
/** Returns the names of the classes that a value is an instance of. */
const classesOf = (value: unknown) =>
  expectedErrors.map(([name]) => name).filter((name) => value instanceof Object(Reflect.get(sdk, name)))

test.each([
  ['this copy', sdk],
  ['another copy', copy],
])('the errors of %s of the package are instances of their classes', async (_, thrower) => {
  expect(copy.ApiError).not.toBe(ApiError)
  const errors = await errorsOf(thrower)
  expect(errors.map(({ name, kind, retryable }) => [name, kind, retryable])).toEqual(expectedErrors)
  for (const error of errors) {
    expect(error).toBeInstanceOf(PlantStoreError)
    expect(error).toBeInstanceOf(Error)
    expect(classesOf(error)).toEqual(error.kind === 'timeout' ? ['ConnectionError', 'TimeoutError'] : [error.name])
    expect(String(error)).toMatch(new RegExp(`^${error.name}: GET http://plant-store.test/plants: `))
    // That of an `ApiError` is the text of the service alone.
    if (error.kind !== 'api') expect(error.message).toBe(`GET http://plant-store.test/plants: ${error.detail}`)
  }
})

const others = [null, undefined, 0, 'ApiError', {}, new Error('no'), { name: 'ApiError' }]
test.each(others)('%s is not an instance of any of them', (value) => {
  expect(value).not.toBeInstanceOf(PlantStoreError)
  expect(classesOf(value)).toEqual([])
})

test('a class that an app derives works with instanceof', () => {
  class LeafError extends UsageError {}
  const error: unknown = new UsageError([])
  expect(new LeafError([])).toBeInstanceOf(LeafError)
  expect(new LeafError([])).toBeInstanceOf(UsageError)
  expect(error).not.toBeInstanceOf(LeafError)
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

test('retryable is set when the error hook runs, and true once for the 401 that a token function can fix', async () => {
  const seen: boolean[] = []
  const hooks = { error: (_: unknown, error: PlantStoreError) => seen.push(error.retryable) }
  const store = createFakePlantStore()
  store.failNext({ status: 503 })
  const client = createPlantStoreClient({ ...store, token: () => 'pst_unknown', hooks })
  expect(await failureOf(client.getPlants(), ApiError)).toMatchObject({ status: 401, code: 40102, attempts: 3 })
  expect(seen).toEqual([true, true, false])
})

test('a token function that fails is a TokenError with its reason and cause, and is retried', async () => {
  const store = createFakePlantStore()
  const cause = new Error('vault is sealed')
  let failures = 1
  const token = async () => (failures-- > 0 ? Promise.reject(cause) : store.token)
  const client = createPlantStoreClient({ ...store, token, retries: 1 })
  expect((await client.raw.getPlants()).attempts).toBe(1)
  failures = 9
  const error = await failureOf(client.getPlants(), TokenError)
  const detail = 'token: failed: vault is sealed'
  expect(error).toMatchObject({ kind: 'token', attempts: 0, cause, detail })
})

test('safe never throws', async () => {
  const { safe } = createPlantStoreClient({ ...createFakePlantStore(), retries: 0 })
  const hostile = { get id(): number { throw new Error('no id') }, name: 'Ficus' } // biome-ignore format: one line
  expect(await safe.createPlant(hostile)).toMatchObject({ error: { kind: 'usage', cause: { message: 'no id' } } })
  expect(await safe.getPlants(1 as never)).toMatchObject({ ok: false, error: { kind: 'usage' } })
  const success = { ok: true, data: [], status: 200, requestId: expect.any(String), nextCursor: undefined }
  expect(await safe.getPlants({}, null as never)).toStrictEqual(success)
})

test('safe has the status, the request id and the next cursor, without a cast', async () => {
  const store = createFakePlantStore()
  store.add([{ id: 1, name: 'Ficus' }, { id: 2, name: 'Aloe' }]) // biome-ignore format: one line
  const { safe } = createPlantStoreClient({ ...store, retries: 0 })
  const { nextCursor, data = [] } = await safe.getPlants({ limit: 1 })
  expect(await safe.getPlants({ limit: 1, cursor: nextCursor })).toMatchObject({ data: [{ name: 'Aloe' }] })
  expect(data).toHaveLength(1)
  store.failNext({ error: 'unavailable', headers: { 'x-request-id': 'abc' } })
  expect(await safe.getPlants()).toMatchObject({ ok: false, status: 503, requestId: 'abc' })
})

test('issues name each field of an error of the service, and those that are about no field have none', async () => {
  const { errorCodes } = sdk
  const store = createFakePlantStore()
  const issuesOf = async (code: number, message: string) => {
    const body = JSON.stringify({ error: code, message })
    store.failNext({ status: 400, body, headers: { 'content-type': 'application/json' } })
    return (await failureOf(createPlantStoreClient(store).getPlants(), ApiError)).issues
  }
  const id = { path: 'id', message: 'is taken by another plant of this account. Choose another id.' }
  expect(await issuesOf(errorCodes.idTaken, `${id.path}: ${id.message}`)).toEqual([id])
  const two = [{ path: 'tags.1', message: 'must be a string' }, { path: 'name', message: 'is required' }] // biome-ignore format: one line
  for (const code of [errorCodes.invalidBody, errorCodes.invalidQuery]) {
    expect(await issuesOf(code, 'tags.1: must be a string; name: is required; and 2 more')).toEqual(two)
    expect(await issuesOf(code, 'The body must be an object')).toEqual([])
  }
  expect(await issuesOf(errorCodes.malformedJson, 'position: 5')).toEqual([])
})

test('kind tells errors apart in types, also after instanceof', async () => {
  const thrown: unknown = createApiError({ name: 'idTaken' })
  const error: PlantStoreError = createApiError({ name: 'idTaken' })
  if (thrown instanceof PlantStoreError && thrown.kind === 'api') thrown.status satisfies number
  if (thrown instanceof PlantStoreError && thrown.kind === 'usage') thrown.issues satisfies readonly sdk.Issue[]
  expect(error.kind).toBe('api')
})
