/** Which failures are repeated, when, and how often. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  AbortError,
  ApiError,
  type CallOptions,
  ConnectionError,
  createPlantStoreClient,
  MalformedResponseError,
  RequestError,
} from '../src/index.ts'
import { createFakePlantStore } from '../src/testing/index.ts'
import { failureOf } from './helpers/failure-of.ts'
import { sendError, sendJson, startTinyServer } from './helpers/tiny-server.ts'

// The wait before an attempt is random from 0 up; here it is 0.
beforeEach(() => vi.spyOn(Math, 'random').mockReturnValue(0) && undefined)
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const newPlant = { id: 1, name: 'Ficus' }

describe('what is repeated', () => {
  test.each([408, 429, 500, 502, 503, 504])('status %d, twice, also for a plant to create', async (status) => {
    await using server = await startTinyServer((response, _, number) =>
      number < 3 ? sendError(response, status * 100) : sendJson(response, 200, { name: 'Ficus' }),
    )
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
    const { data, attempts } = await client.raw.createPlant(newPlant)
    expect([data, attempts]).toEqual([{ name: 'Ficus' }, 3])
    expect(new Set(server.requests.map(({ body }) => body))).toEqual(new Set(['{"id":1,"name":"Ficus"}']))
  })

  test.each([400, 401, 403, 404, 405, 409, 413, 415, 422, 431, 501, 505])('not status %d', async (status) => {
    await using server = await startTinyServer((response) => sendError(response, status * 100))
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
    expect(await failureOf(client.createPlant(newPlant), ApiError)).toMatchObject({ status, attempts: 1 })
    expect(server.requests).toHaveLength(1)
  })

  test('a connection that breaks before the answer', async () => {
    await using server = await startTinyServer((response, _, number) =>
      number < 3 ? response.socket?.destroy() : sendJson(response, 200, []),
    )
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
    expect((await client.raw.getPlants()).attempts).toBe(3)
  })

  test('a connection that breaks in the answer', async () => {
    await using server = await startTinyServer((response, _, number) => {
      if (number > 1) return sendJson(response, 200, [])
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
      response.write('[{"name":', () => response.socket?.destroy())
    })
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
    expect((await client.raw.getPlants()).attempts).toBe(2)
  })

  test('nobody listening, as often as said, and then it is an error', async () => {
    const server = await startTinyServer(() => {})
    await server[Symbol.asyncDispose]()
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
    const error = await failureOf(client.getPlants(), ConnectionError)
    expect(error).toMatchObject({ kind: 'connection', attempts: 3 })
    expect(error.message).toMatch(/^GET http:.*\/plants: no answer: .*ECONNREFUSED.* \(attempt 3\)$/)
  })

  test('a proxy’s page with status 502', async () => {
    await using server = await startTinyServer((response, _, number) =>
      number < 2 ? response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>') : sendJson(response, 200, []),
    )
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
    expect((await client.raw.getPlants()).attempts).toBe(2)
  })

  test('not a success that is malformed', async () => {
    await using server = await startTinyServer((response) => response.writeHead(200).end('garbage'))
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
    expect(await failureOf(client.getPlants(), MalformedResponseError)).toMatchObject({ attempts: 1 })
  })

  test('not what could not be sent', async () => {
    const store = createFakePlantStore()
    const request = vi.fn(() => expect.fail('no span'))
    const client = createPlantStoreClient({ ...store, hooks: { request } })
    expect(await failureOf(client.getPlants(), RequestError)).toMatchObject({ attempts: 0 })
    expect(request).toHaveBeenCalledOnce()
  })
})

describe('retries', () => {
  test.each([0, 1, 4])('%d is so many repetitions, of the client or of a call', async (retries) => {
    const store = createFakePlantStore()
    store.failNext({ status: 500 }, 20)
    const byClient = createPlantStoreClient({ ...store, retries })
    expect(await failureOf(byClient.getPlants(), ApiError)).toMatchObject({ attempts: retries + 1 })
    const byCall = createPlantStoreClient(store)
    expect(await failureOf(byCall.getPlants({}, { retries }), ApiError)).toMatchObject({ attempts: retries + 1 })
    expect(store.requests).toHaveLength(2 * (retries + 1))
  })

  test('a plant whose answer was lost is created once', async () => {
    const store = createFakePlantStore()
    store.failNext({ cutBodyAfter: 3 })
    expect(await createPlantStoreClient(store).createPlant(newPlant)).toEqual({ name: 'Ficus' })
    expect(store.requests).toHaveLength(2)
    expect(store.plants()).toEqual([{ id: 1n, name: 'Ficus' }])
  })
})

/** The waits before the attempts of a call that fails. */
async function waitsOf(headers: Record<string, string>, options: CallOptions): Promise<(number | undefined)[]> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const store = createFakePlantStore()
  store.failNext({ status: 503, headers }, 20)
  const waits: (number | undefined)[] = []
  const hooks = { error: (_: unknown, __: unknown, delay: number | undefined) => waits.push(delay) }
  const failed = failureOf(createPlantStoreClient({ ...store, ...options, hooks }).getPlants(), ApiError)
  await vi.advanceTimersByTimeAsync(10 * 60_000)
  await failed
  return waits
}

describe('the wait before an attempt', () => {
  test('is up to 300 ms, doubled each time, at most 5 s', async () => {
    vi.mocked(Math.random).mockReturnValue(1)
    expect(await waitsOf({}, { retries: 6 })).toEqual([300, 600, 1200, 2400, 4800, 5000, undefined])
    vi.mocked(Math.random).mockReturnValue(0.5)
    expect(await waitsOf({}, { retries: 2 })).toEqual([150, 300, undefined])
  })

  test('is as long as Retry-After asks for, in seconds', async () => {
    expect(await waitsOf({ 'retry-after': '7' }, { retries: 2 })).toEqual([7000, 7000, undefined])
    expect(await waitsOf({ 'retry-after': '60' }, { retries: 1 })).toEqual([60_000, undefined])
  })

  test('is as long as Retry-After asks for, as a date', async () => {
    const date = new Date(Date.now() + 30_000).toUTCString()
    const [wait] = await waitsOf({ 'retry-after': date }, { retries: 1 })
    expect(wait).toBeGreaterThan(20_000)
    expect(wait).toBeLessThanOrEqual(30_000)
    expect(await waitsOf({ 'retry-after': new Date(0).toUTCString() }, { retries: 1 })).toEqual([0, undefined])
  })

  test.each(['soon', '-1', ''])('is what it would be without, where Retry-After is "%s"', async (value) => {
    vi.mocked(Math.random).mockReturnValue(1)
    expect(await waitsOf({ 'retry-after': value }, { retries: 1 })).toEqual([300, undefined])
  })

  test('is none where Retry-After asks for more than 60 s: the call fails at once and says for how long', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 429, headers: { 'retry-after': '61' } })
    const error = await failureOf(createPlantStoreClient(store).getPlants(), ApiError)
    expect(error).toMatchObject({ status: 429, attempts: 1, retryAfterMs: 61_000 })
  })

  test('really passes', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503, headers: { 'retry-after': '1' } })
    const begin = performance.now()
    await createPlantStoreClient(store).getPlants()
    expect(performance.now() - begin).toBeGreaterThan(950)
  })

  test('ends when the call is aborted, with the reason of the signal', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503, headers: { 'retry-after': '50' } })
    const controller = new AbortController()
    const hooks = { error: () => setTimeout(() => controller.abort('enough'), 20) }
    const client = createPlantStoreClient({ ...store, signal: controller.signal, hooks })
    const begin = performance.now()
    expect(await failureOf(client.getPlants(), AbortError)).toMatchObject({ reason: 'enough', attempts: 1 })
    expect(performance.now() - begin).toBeLessThan(10_000)
  })
})

describe('a 401', () => {
  test('has a token function asked once more, told that the token was refused', async () => {
    const store = createFakePlantStore()
    const old = store.createToken()
    store.revokeToken(old)
    const token = vi.fn(({ refused }: { refused: boolean }) => (refused ? store.token : old))
    const client = createPlantStoreClient({ ...store, token, retries: 0 })
    expect((await client.raw.getPlants()).attempts).toBe(2)
    expect(token.mock.calls).toEqual([[{ refused: false }], [{ refused: true }]])
  })

  test('after that is the error of the call', async () => {
    const token = vi.fn(() => 'pst_unknown')
    const client = createPlantStoreClient({ ...createFakePlantStore(), token })
    expect(await failureOf(client.getPlants(), ApiError)).toMatchObject({ status: 401, code: 40102, attempts: 2 })
    expect(token).toHaveBeenCalledTimes(2)
  })

  test('in between other failures takes none of their repetitions', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503 })
    store.failNext({ status: 401 })
    store.failNext({ status: 503 })
    const client = createPlantStoreClient({ ...store, token: () => store.token, retries: 2 })
    expect((await client.raw.getPlants()).attempts).toBe(4)
  })
})
