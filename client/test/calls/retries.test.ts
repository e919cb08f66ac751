/** Which failures are retried, when, and how often. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type * as sdk from '../../src/index.ts'
import { ApiError, createPlantStoreClient, PlantStoreError, TimeoutError } from '../../src/index.ts'
import { createFakePlantStore, type Fault } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

// No jitter: the random part of the delay is 0.
beforeEach(() => vi.spyOn(Math, 'random').mockReturnValue(0) && undefined)
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const newPlant = { id: 1, name: 'Ficus' }

describe('attempts of creating a plant', () => {
  const cut = ['', '{"name":"Fi'].map(
    (body): Fault => ({
      ...{ status: 200, body },
      headers: { 'content-type': 'application/json' },
    }),
  )
  const temporary = [408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 530]
  test.each<Fault>([...temporary.map((status) => ({ status })), ...cut])(
    '3, of which the first two got %o, with the same body',
    async (fault) => {
      const store = createFakePlantStore()
      store.failNext(fault, 2)
      const { data, attempts } = await createPlantStoreClient(store).raw.createPlant(newPlant)
      expect([data, attempts]).toEqual([{ name: 'Ficus' }, 3])
      expect(new Set(store.requests.map(({ body }) => body))).toEqual(new Set(['{"id":1,"name":"Ficus"}']))
    },
  )

  const final = [400, 401, 403, 404, 405, 409, 413, 415, 422, 431, 501, 505, 525, 526]
  test.each<Fault>([...final.map((status) => ({ status })), { status: 200, body: 'garbage' }])(
    '1, which got %o',
    async (fault) => {
      const store = createFakePlantStore()
      store.failNext(fault)
      const error = await failureOf(createPlantStoreClient(store).createPlant(newPlant), PlantStoreError)
      expect(error).toMatchObject({ attempts: 1, retryable: false })
      expect(store.requests).toHaveLength(1)
    },
  )
})

const NOW = Date.UTC(2026, 10, 24)

describe('the delay before a retry', () => {
  const date = (seconds: number) => new Date(NOW + seconds * 1000).toUTCString()
  /** An hour ahead of this machine. */
  const ahead = date(3600)
  test.each<[random: number, retryDelay: number | undefined, headers: Record<string, string>, delays: number[]]>([
    [0.5, undefined, {}, [25, 50, 100, 200, 400, 800, 1600, 2500, 2500]],
    [0.5, 10, {}, [5, 10]],
    [0.5, 8000, {}, [4000, 4000]],
    // The service sheds load.
    [0.5, undefined, { 'retry-after': '7' }, [7500, 8000, 9000, 9500, 9500]],
    [0.5, 10, { 'retry-after': '7' }, [7005, 7010]],
    [0.5, undefined, { 'retry-after': '60' }, [60_500]],
    [0.5, undefined, { 'retry-after': date(30) }, [30_500]],
    [0.5, undefined, { 'retry-after': date(3602), date: ahead }, [2500]],
    [0.5, undefined, { 'retry-after': '2', date: ahead }, [2500]],
    ...[date(-60), '-1'].map((past) => [0.5, undefined, { 'retry-after': past }, [500]] as never),
    ...['soon', ''].map((invalid) => [0.5, undefined, { 'retry-after': invalid }, [25]] as never),
  ])('is %d of retryDelay %s, doubling up to 5 s, plus the Retry-After of %j: %j ms', async (...row) => {
    const [random, retryDelay, headers, delays] = row
    vi.mocked(Math.random).mockReturnValue(random)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: NOW })
    const store = createFakePlantStore()
    store.failNext({ status: 503, headers }, 20)
    const [times, seen]: [number[], unknown[]] = [[], []]
    const request = () => void times.push(Date.now())
    const error = (_: unknown, __: unknown, delay: unknown) => seen.push(delay)
    const options = { retries: delays.length, retryDelay, hooks: { request, error } }
    const failed = failureOf(createPlantStoreClient({ ...store, ...options }).getPlants(), ApiError)
    await vi.advanceTimersByTimeAsync(10 * 60_000)
    await failed
    expect(times.slice(1).map((time, index) => time - Number(times[index]))).toEqual(delays)
    expect(seen).toEqual([...delays, undefined])
  })

  test.each([
    ['aborted', 'aborted', 'enough'],
    ['timed out', 'timeout', new DOMException('late', 'TimeoutError')],
  ])('ends when the call is %s by its signal, with the last failure', async (text, kind, reason) => {
    const store = createFakePlantStore()
    // The delay is longer than a test may take.
    store.failNext({ error: 'unavailable', headers: { 'retry-after': '50', 'x-request-id': 'abc' } })
    const controller = new AbortController()
    const hooks = { error: () => setTimeout(() => controller.abort(reason), 20) }
    const client = createPlantStoreClient({ ...store, signal: controller.signal, hooks })
    const error = await failureOf(client.getPlants(), PlantStoreError)
    expect(error).toMatchObject({ kind, reason, attempts: 1, retryable: false })
    expect(error.lastFailure).toMatchObject({ kind: 'api', status: 503, requestId: 'abc', retryAfterMs: 50_000 })
    expect(error.cause).toBe(error.lastFailure)
    expect(error.detail).toBe(`${text} by the signal, after: ${error.lastFailure?.detail}`)
  })
})

test('a hook that aborts the call after a failure ends it with that failure, and nothing is retried', async () => {
  const store = createFakePlantStore()
  store.failNext({ error: 'unavailable' })
  const controller = new AbortController()
  const delays: unknown[] = []
  const hooks: sdk.Hooks = {
    response: () => controller.abort(),
    error: (_attempt, _error, delay) => delays.push(delay),
  }
  const client = createPlantStoreClient({ ...store, signal: controller.signal, hooks })
  expect(await failureOf(client.getPlants(), ApiError)).toMatchObject({ status: 503, attempts: 1 })
  expect(delays).toEqual([undefined])
})

test('an attempt that fails in another way has the failure of the one before', async () => {
  const store = createFakePlantStore()
  store.failNext({ status: 503 })
  store.failNext(new TypeError('fetch failed'))
  store.failNext({ delay: 60_000 })
  const error = await failureOf(createPlantStoreClient({ ...store, timeout: 200 }).getPlants(), TimeoutError)
  expect(error.lastFailure).toMatchObject({ kind: 'connection', lastFailure: { status: 503, lastFailure: undefined } })
  expect(error.cause).toBe(error.lastFailure)
  expect(Object.keys(error)).not.toContain('lastFailure')
})

describe('the retries of a client', () => {
  /** Returns how many requests a call sends. */
  const attemptsOf = async (client: sdk.PlantStoreClient) =>
    (await failureOf(client.getPlants(), PlantStoreError)).attempts

  test.each<[attempts: number, fault: Fault]>([
    [36, { status: 503, delay: 0 }],
    [36, new TypeError('fetch failed')],
    [101, { status: 429 }],
    [101, { status: 503, headers: { 'retry-after': '0' } }],
  ])('are %i in an outage, for all clients that derive from it: %o', async (attempts, fault) => {
    // Without a delay, nothing waits for a timer.
    vi.useFakeTimers()
    const store = createFakePlantStore()
    const client = createPlantStoreClient({ ...store, retries: 1000, retryDelay: 0 })
    store.failNext(fault, Number.POSITIVE_INFINITY)
    expect(await attemptsOf(client)).toBe(attempts)
    expect(await attemptsOf(client.withOptions({ retries: 3 }))).toBe(1)
    expect(await attemptsOf(createPlantStoreClient({ ...store, retries: 3, retryDelay: 0 }))).toBe(4)
  })

  test('are given back by a success: what its last retry cost, or else 1 point, and never more than 500', async () => {
    const store = createFakePlantStore()
    const client = createPlantStoreClient({ ...store, retries: 1000, retryDelay: 0 })
    const succeed = async (times: number, ...failures: number[]) => {
      for (const status of failures) store.failNext({ status })
      for (let call = 0; call < times; call++) await client.getPlants()
    }
    await succeed(1)
    store.failNext({ status: 500 }, 36)
    expect(await attemptsOf(client)).toBe(36)
    // 10 points are left, then 14. A retry after a 500 costs them and gives them back; of two after a 429, one does.
    await succeed(4)
    await succeed(1, 500)
    await succeed(1, 429, 429)
    store.failNext({ status: 500 })
    expect(await attemptsOf(client)).toBe(1)
    await succeed(5)
    store.failNext({ status: 500 }, 2)
    expect(await attemptsOf(client)).toBe(2)
  })
})

test('the token function runs once per call, and once more after a 401, which does not use up a retry', async () => {
  const store = createFakePlantStore()
  for (const status of [503, 401, 503, 401]) store.failNext({ status })
  const token = vi.fn(() => store.token)
  const seen: boolean[] = []
  const hooks = { error: (_: unknown, error: PlantStoreError) => seen.push(error.retryable) }
  const failed = createPlantStoreClient({ ...store, token, hooks }).getPlants()
  expect(await failureOf(failed, ApiError)).toMatchObject({ status: 401, attempts: 4 })
  expect(token.mock.calls).toEqual([[{ rejected: false }], [{ rejected: true }]])
  expect(seen).toEqual([true, true, true, false])
})
