/** Errors and their fields. */
import { inspect } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import * as sdk from '../../src/index.ts'
import {
  AbortError,
  ApiError,
  ConnectionError,
  createPlantStoreClient,
  errorCodes,
  MalformedResponseError,
  PlantStoreError,
  TimeoutError,
  TokenError,
  UsageError,
} from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

// A second copy of the package, as in an app whose dependencies each bring their own.
vi.resetModules()
const copy: typeof sdk = await import('../../src/index.ts')

const newPlant = { id: 1, name: 'Ficus' }

/** Returns an error of every class, thrown by one copy of the package. */
async function errorsOf({ createPlantStoreClient }: typeof sdk): Promise<PlantStoreError[]> {
  const store = createFakePlantStore()
  const client = createPlantStoreClient({ ...store, retries: 0 })
  const thrown: unknown[] = []
  const collect = (error: unknown) => void thrown.push(error)
  for (const fault of [{ status: 400 }, { body: '<h1>' }, { connectionError: true }] as const) {
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

const classes = { ApiError, MalformedResponseError, ConnectionError, TimeoutError, AbortError, TokenError, UsageError }
/** The kind of each class, and whether the client retries it. */
const expectedKinds = [
  ...[['api', false], ['malformed-response', false], ['connection', true], ['timeout', true]],
  ...[['aborted', false], ['token', true], ['usage', false]],
] // biome-ignore format: two lines

test.each([
  ['this copy', sdk],
  ['another copy', copy],
])('the errors of %s of the package are instances of their classes', async (_, thrower) => {
  expect(copy.ApiError).not.toBe(ApiError)
  const errors = await errorsOf(thrower)
  expect(errors.map(({ kind, retryable }) => [kind, retryable])).toEqual(expectedKinds)
  for (const [index, error] of errors.entries()) {
    expect(error).toBeInstanceOf(PlantStoreError)
    expect(error).toBeInstanceOf(Error)
    const matching = Object.keys(classes).filter((name) => error instanceof classes[name as keyof typeof classes])
    expect(error.name).toBe(Object.keys(classes)[index])
    expect(matching).toEqual(error.kind === 'timeout' ? ['ConnectionError', 'TimeoutError'] : [error.name])
    expect(String(error)).toMatch(new RegExp(`^${error.name}: GET http://plant-store.test/plants: `))
    // That of an `ApiError` is the text of the service alone.
    if (error.kind !== 'api') expect(error.message).toBe(`GET http://plant-store.test/plants: ${error.detail}`)
  }
})

test.each([null, undefined, 0, 'ApiError', {}, new Error('no'), { name: 'ApiError' }])(
  '%s is not an instance of any of them',
  (value) => {
    for (const errorClass of [PlantStoreError, ...Object.values(classes)]) expect(value).not.toBeInstanceOf(errorClass)
  },
)

test('a class that an app derives works with instanceof', () => {
  class LeafError extends UsageError {}
  const error: unknown = new UsageError('no leaf')
  expect(new LeafError('no leaf')).toBeInstanceOf(LeafError)
  expect(new LeafError('no leaf')).toBeInstanceOf(UsageError)
  expect(error).not.toBeInstanceOf(LeafError)
})

describe('an ApiError', () => {
  test('has the response and the request', async () => {
    const store = createFakePlantStore()
    const client = createPlantStoreClient(store)
    await client.createPlant(newPlant)
    const error = await failureOf(client.createPlant({ id: 1, name: 'Monstera' }), ApiError)
    expect(error).toMatchObject({
      name: 'ApiError',
      kind: 'api',
      status: 400,
      code: errorCodes.idTaken,
      method: 'POST',
      url: 'http://plant-store.test/plants',
      attempts: 1,
      retryAfterMs: undefined,
    })
    const message = 'id: is taken by another plant of this account. Choose another id.'
    expect(error.message).toBe(`POST http://plant-store.test/plants: responded 400 (40003): ${message}`)
    expect([error.detail, error.body]).toEqual([message, { error: 40003, message }])
    expect(error.requestId).toBe(error.headers.get('x-request-id'))
    expect(error.requestId).toBeTruthy()
  })

  test('is safe to log: toJSON has the body, but no headers and no cause', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 429, headers: { 'retry-after': '61', 'set-cookie': 'session=secret' } })
    const error = await failureOf(createPlantStoreClient(store).getPlants(), ApiError)
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'ApiError',
      kind: 'api',
      message: error.message,
      detail: 'A test requested this error.',
      method: 'GET',
      url: 'http://plant-store.test/plants',
      attempts: 1,
      retryable: false,
      status: 429,
      code: 42900,
      body: { error: 42900, message: 'A test requested this error.' },
      requestId: error.requestId,
      retryAfterMs: 61_000,
    })
    expect(error.headers.get('set-cookie')).toBe('session=secret')
    expect(inspect(error)).not.toContain('secret')
    expect(inspect({ ...error })).not.toContain('secret')
  })

  test('has a stack with the call', async () => {
    const client = createPlantStoreClient({ ...createFakePlantStore(), token: 'pst_unknown' })
    async function callOfMine() {
      await client.getPlants()
    }
    expect((await failureOf(callOfMine(), ApiError)).stack).toContain('callOfMine')
  })
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
  expect(error).toMatchObject({
    kind: 'token',
    attempts: 0,
    cause,
    detail: 'token: the function failed: vault is sealed',
  })
})

test('safe never throws', async () => {
  const client = createPlantStoreClient({ ...createFakePlantStore(), retries: 0 })
  const fetch = () => expect.fail('synchronously')
  expect(await client.safe.getPlants({}, { fetch })).toMatchObject({ ok: false, error: { kind: 'usage' } })
  const hostile = { get id(): number { throw new Error('no id') }, name: 'Ficus' } // biome-ignore format: one line
  expect(await client.safe.createPlant(hostile)).toMatchObject({ ok: false, error: { kind: 'usage' } })
  expect(await client.safe.getPlants(1 as never)).toMatchObject({ ok: false, error: { kind: 'usage' } })
  expect(await client.safe.getPlants({}, null as never)).toMatchObject({ ok: true })
})

test('operations can be destructured, and raw returns the head of the response with the data', async () => {
  const { getPlants, safe, raw } = createPlantStoreClient(createFakePlantStore())
  const [{ getPlants: getSafely }, { getPlants: getRaw }] = [safe, raw]
  expect([await getPlants(), await getSafely()]).toStrictEqual([[], { ok: true, data: [] }])
  const response = await getRaw()
  expect(response).toMatchObject({ data: [], status: 200, attempts: 1, retryAfterMs: undefined })
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(response.requestId).toBe(response.headers.get('x-request-id') ?? 'none')
})
