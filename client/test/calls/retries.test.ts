/** Which failures are retried, when, and how often. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  AbortError,
  ApiError,
  type CallOptions,
  ConnectionError,
  createPlantStoreClient,
  PlantStoreError,
} from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { breakOff, type Handler, sendError, sendJson, startTinyServer } from '../helpers/tiny-server.ts'

// No jitter: the random part of the delay is 0.
beforeEach(() => vi.spyOn(Math, 'random').mockReturnValue(0) && undefined)
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const newPlant = { id: 1, name: 'Ficus' }

describe('attempts of creating a plant', () => {
  const page: Handler = (response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>')
  const fail =
    (status: number): Handler =>
    (response) =>
      sendError(response, status * 100)

  test.each<[title: string, Handler]>([
    ...[408, 429, 500, 502, 503, 504].map((status): [string, Handler] => [`status ${status}`, fail(status)]),
    ['a proxy’s page with status 502', page],
    ['a connection that breaks before the response', (response) => response.socket?.destroy()],
    ['a connection that breaks during the response', breakOff],
  ])('3, of which the first two got %s, with the same body', async (_, handler) => {
    await using server = await startTinyServer((response, request, number) =>
      number < 3 ? handler(response, request, number) : sendJson(response, 200, { name: 'Ficus' }),
    )
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
    const { data, attempts } = await client.raw.createPlant(newPlant)
    expect([data, attempts]).toEqual([{ name: 'Ficus' }, 3])
    expect(new Set(server.requests.map(({ body }) => body))).toEqual(new Set(['{"id":1,"name":"Ficus"}']))
  })

  const statuses = [400, 401, 403, 404, 405, 409, 413, 415, 422, 431, 501, 505]
  test.each<[title: string, Handler]>([
    ...statuses.map((status): [string, Handler] => [`status ${status}`, fail(status)]),
    ['a malformed response with status 200', (response) => response.writeHead(200).end('garbage')],
  ])('1, which got %s', async (_, handler) => {
    await using server = await startTinyServer(handler)
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
    const error = await failureOf(client.createPlant(newPlant), PlantStoreError)
    expect(error).toMatchObject({ attempts: 1, retryable: false })
    expect(server.requests).toHaveLength(1)
  })

  test('3 on a closed port, and the last one is in the error', async () => {
    const server = await startTinyServer(() => {})
    await server[Symbol.asyncDispose]()
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
    const error = await failureOf(client.createPlant(newPlant), ConnectionError)
    expect(error).toMatchObject({ kind: 'connection', attempts: 3 })
    expect(error.message).toMatch(/^POST http:.*\/plants: connection failed: .*ECONNREFUSED.* \(attempt 3\)$/)
  })

  test.each([0, 1, 4])('one more than %d retries, of the client or of the call', async (retries) => {
    const store = createFakePlantStore()
    store.failNext({ status: 500 }, 20)
    const byClient = createPlantStoreClient({ ...store, retries })
    const byCall = createPlantStoreClient(store)
    for (const call of [byClient.createPlant(newPlant), byCall.createPlant(newPlant, { retries })]) {
      expect(await failureOf(call, ApiError)).toMatchObject({ attempts: retries + 1, retryable: true })
    }
    expect(store.requests).toHaveLength(2 * (retries + 1))
  })
})

/** Returns the delays before the attempts of a call that fails. */
async function delaysOf(headers: Record<string, string>, options: CallOptions): Promise<(number | undefined)[]> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const store = createFakePlantStore()
  store.failNext({ status: 503, headers }, 20)
  const delays: (number | undefined)[] = []
  const hooks = { error: (_: unknown, __: unknown, delay: number | undefined) => delays.push(delay) }
  const failed = failureOf(createPlantStoreClient({ ...store, ...options, hooks }).getPlants(), ApiError)
  await vi.advanceTimersByTimeAsync(10 * 60_000)
  await failed
  return delays
}

describe('the delay before a retry', () => {
  test('is up to 300 ms, doubling each time up to 5 s', async () => {
    vi.mocked(Math.random).mockReturnValue(1)
    expect(await delaysOf({}, { retries: 6 })).toEqual([300, 600, 1200, 2400, 4800, 5000, undefined])
    vi.mocked(Math.random).mockReturnValue(0.5)
    expect(await delaysOf({}, { retries: 2 })).toEqual([150, 300, undefined])
  })

  const inHalfAMinute = expect.toSatisfy((delay: number) => delay > 20_300 && delay <= 30_300)
  test.each<[string, unknown]>([
    ['7', 7300],
    ['60', 60_300],
    [new Date(Date.now() + 30_000).toUTCString(), inHalfAMinute],
    [new Date(0).toUTCString(), 300],
    ...['soon', '-1', ''].map((invalid): [string, number] => [invalid, 300]),
  ])('after the Retry-After "%s" is %s ms, with jitter', async (value, delay) => {
    vi.mocked(Math.random).mockReturnValue(1)
    expect(await delaysOf({ 'retry-after': value }, { retries: 1 })).toEqual([delay, undefined])
  })

  test('really elapses', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503, headers: { 'retry-after': '1' } })
    const start = performance.now()
    await createPlantStoreClient(store).getPlants()
    expect(performance.now() - start).toBeGreaterThan(950)
  })

  test('ends when the call is aborted, with the reason of the signal', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503, headers: { 'retry-after': '50' } })
    const controller = new AbortController()
    const hooks = { error: () => setTimeout(() => controller.abort('enough'), 20) }
    const client = createPlantStoreClient({ ...store, signal: controller.signal, hooks })
    const start = performance.now()
    expect(await failureOf(client.getPlants(), AbortError)).toMatchObject({ reason: 'enough', attempts: 1 })
    expect(performance.now() - start).toBeLessThan(10_000)
  })
})

describe('a 401', () => {
  test('calls the token function once more, with rejected: true', async () => {
    const store = createFakePlantStore()
    const old = store.createToken()
    store.revokeToken(old)
    const token = vi.fn(({ rejected }: { rejected: boolean }) => (rejected ? store.token : old))
    const client = createPlantStoreClient({ ...store, token, retries: 0 })
    expect((await client.raw.getPlants()).attempts).toBe(2)
    expect(token.mock.calls).toEqual([[{ rejected: false }], [{ rejected: true }]])
  })

  test('between other failures does not use up a retry', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503 })
    store.failNext({ status: 401 })
    store.failNext({ status: 503 })
    const client = createPlantStoreClient({ ...store, token: () => store.token, retries: 2 })
    expect((await client.raw.getPlants()).attempts).toBe(4)
  })
})
