/** Which failures are retried, when, and how often. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { AbortError, ApiError, createPlantStoreClient, PlantStoreError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { breakOff, type Handler, respondError, sendJson, startTinyServer } from '../helpers/tiny-server.ts'

// No jitter: the random part of the delay is 0.
beforeEach(() => vi.spyOn(Math, 'random').mockReturnValue(0) && undefined)
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const newPlant = { id: 1, name: 'Ficus' }

describe('attempts of creating a plant', () => {
  type Row = [title: string, Handler]
  const page: Handler = (response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>')
  const failing = (status: number): Row => [`status ${status}`, respondError(status * 100)]

  test.each<Row>([
    ...[408, 429, 500, 502, 503, 504].map(failing),
    ['a proxy’s page with status 502', page],
    ['a connection that breaks before the response', (response) => response.socket?.destroy()],
    ['a connection that breaks during the response', breakOff],
  ])('3, of which the first two got %s, with the same body', async (_, handler) => {
    await using server = await startTinyServer((response, request, number) =>
      number < 3 ? handler(response, request, number) : sendJson(response, 200, { name: 'Ficus' }),
    )
    const { data, attempts } = await server.createClient().raw.createPlant(newPlant)
    expect([data, attempts]).toEqual([{ name: 'Ficus' }, 3])
    expect(new Set(server.requests.map(({ body }) => body))).toEqual(new Set(['{"id":1,"name":"Ficus"}']))
  })

  test.each<Row>([
    ...[400, 401, 403, 404, 405, 409, 413, 415, 422, 431, 501, 505].map(failing),
    ['a malformed response with status 200', (response) => response.writeHead(200).end('garbage')],
  ])('1, which got %s', async (_, handler) => {
    await using server = await startTinyServer(handler)
    const error = await failureOf(server.createClient().createPlant(newPlant), PlantStoreError)
    expect(error).toMatchObject({ attempts: 1, retryable: false })
    expect(server.requests).toHaveLength(1)
  })
})

const NOW = Date.UTC(2026, 10, 24)

/** Returns the delays before the attempts of a call that fails with this header, as they are and as its hook gets them. */
async function delaysOf(retryAfter: string | undefined, retries: number): Promise<[number[], unknown[]]> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: NOW })
  const store = createFakePlantStore()
  store.failNext({ status: 503, ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }) }, 20)
  const times: number[] = []
  const delays: unknown[] = []
  const request = () => void times.push(Date.now())
  const error = (_: unknown, __: unknown, delay: unknown) => delays.push(delay)
  const client = createPlantStoreClient({ ...store, retries, hooks: { request, error } })
  const failed = failureOf(client.getPlants(), ApiError)
  await vi.advanceTimersByTimeAsync(10 * 60_000)
  await failed
  return [times.slice(1).map((time, index) => time - Number(times[index])), delays]
}

describe('the delay before a retry', () => {
  test.each([
    [1, [300, 600, 1200, 2400, 4800, 5000]],
    [0.5, [150, 300]],
  ])('is up to 300 ms, doubling each time up to 5 s: %d of %j', async (random, delays) => {
    vi.mocked(Math.random).mockReturnValue(random)
    expect(await delaysOf(undefined, delays.length)).toEqual([delays, [...delays, undefined]])
  })

  test.each([
    ['7', 7300],
    ['60', 60_300],
    [new Date(NOW + 30_000).toUTCString(), 30_300],
    ...[new Date(0).toUTCString(), 'soon', '-1', ''].map((invalid) => [invalid, 300] as const),
  ] as const)('after the Retry-After "%s" is %s ms, with jitter', async (value, delay) => {
    vi.mocked(Math.random).mockReturnValue(1)
    expect(await delaysOf(value, 1)).toEqual([[delay], [delay, undefined]])
  })

  test('ends when the call is aborted, with the reason of the signal', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503, headers: { 'retry-after': '50' } })
    const controller = new AbortController()
    const hooks = { error: () => setTimeout(() => controller.abort('enough'), 20) }
    const client = createPlantStoreClient({ ...store, signal: controller.signal, hooks })
    // The delay is longer than a test may take.
    expect(await failureOf(client.getPlants(), AbortError)).toMatchObject({ reason: 'enough', attempts: 1 })
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
