/** Nothing hangs: every attempt has a timeout, and every call can be aborted. */
import { getEventListeners } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { until } from '../../../test/helpers/until.ts'
import { AbortError, type Attempt, createPlantStoreClient, TimeoutError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { sendJson, startTinyServer } from '../helpers/tiny-server.ts'

const never = () => new Promise<never>(() => {})
const silentServer = () => startTinyServer(() => {})
const stallingServer = () =>
  startTinyServer((response) => response.writeHead(200, { 'content-type': 'application/json' }).write('[{"name":'))

describe('timeout', () => {
  test.each([
    ['does not respond', silentServer],
    ['does not finish its response', stallingServer],
  ])('ends an attempt on a server that %s', async (_, start) => {
    await using server = await start()
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test', timeout: 50, retries: 0 })
    const error = await failureOf(client.getPlants(), TimeoutError)
    expect(error).toMatchObject({ kind: 'timeout', name: 'TimeoutError', attempts: 1 })
    expect(error.message).toBe(`GET ${server.url}/plants: timed out after 50 ms`)
  })

  test('applies to each attempt, not to the call', async () => {
    await using server = await startTinyServer((response, _, number) => {
      if (number === 3) sendJson(response, 200, [])
    })
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test', timeout: 200 })
    expect((await client.raw.getPlants()).attempts).toBe(3)
  })

  test.each([
    ['fetch', { fetch: never }],
    ['token function', { token: never }],
    ['request hook', { hooks: { request: never } }],
    ['body', { fetch: async () => ({ status: 200, headers: new Headers(), text: never }) }],
  ])('ends an attempt on a %s that never settles', async (_, option) => {
    const client = createPlantStoreClient({ ...createFakePlantStore(), timeout: 60_000, retries: 1, ...option })
    // That of a call overrides that of the client, and a signal does not disable it.
    const { signal } = new AbortController()
    await failureOf(client.getPlants({}, { timeout: 50, signal }), TimeoutError)
  })

  test('of Infinity never ends an attempt', async () => {
    const store = createFakePlantStore()
    store.failNext({ delay: 100 })
    expect(
      await createPlantStoreClient({ ...store, timeout: Number.POSITIVE_INFINITY, retries: 0 }).getPlants(),
    ).toEqual([])
  })

  test('closes the connection', async () => {
    await using server = await startTinyServer((response) => response.on('close', () => closed()))
    let closed = () => {}
    const connectionClosed = new Promise<void>((resolve) => {
      closed = resolve
    })
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test', timeout: 50, retries: 0 })
    await failureOf(client.getPlants(), TimeoutError)
    await connectionClosed
  })
})

describe('signal', () => {
  test.each([
    ['does not respond', silentServer],
    ['does not finish its response', stallingServer],
  ])('aborts a call on a server that %s, with its reason', async (_, start) => {
    await using server = await start()
    const controller = new AbortController()
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test', signal: controller.signal })
    const reason = new Error('page left')
    const failed = failureOf(client.getPlants(), AbortError)
    await until(() => server.requests.length === 1)
    controller.abort(reason)
    const error = await failed
    expect(error).toMatchObject({ kind: 'aborted', name: 'AbortError', reason, cause: reason, attempts: 1 })
    expect(server.requests).toHaveLength(1)
  })

  test('that is already aborted prevents the request and the token lookup', async () => {
    const store = createFakePlantStore()
    const token = vi.fn(() => store.token)
    const client = createPlantStoreClient({ ...store, token })
    const error = await failureOf(client.getPlants({}, { signal: AbortSignal.abort('before') }), AbortError)
    expect(error).toMatchObject({ reason: 'before', attempts: 0 })
    expect(token).not.toHaveBeenCalled()
    expect(store.requests).toHaveLength(0)
  })

  test.each(['client', 'call'])('of the %s aborts the call', async (which) => {
    const store = createFakePlantStore()
    store.failNext({ delay: 30_000 })
    const controllers = { client: new AbortController(), call: new AbortController() }
    const client = createPlantStoreClient({ ...store, signal: controllers.client.signal })
    const call = client.getPlants({}, { signal: controllers.call.signal })
    controllers[which as 'client' | 'call'].abort(which)
    expect(await failureOf(call, AbortError)).toMatchObject({ reason: which })
  })

  test('limits a call with all its attempts', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503 }, 1000)
    const client = createPlantStoreClient({ ...store, retries: 1000 })
    const error = await failureOf(client.getPlants({}, { signal: AbortSignal.timeout(300) }), AbortError)
    expect(error.reason).toMatchObject({ name: 'TimeoutError' })
  })

  test('has one listener for all calls in flight, and none after them', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const counts: number[] = []
    const fetch = async () => {
      counts.push(getEventListeners(signal, 'abort').length)
      await new Promise((resolve) => setTimeout(resolve, 5))
      return Response.json([])
    }
    const client = createPlantStoreClient({ ...createFakePlantStore(), fetch, signal })
    await Promise.all(Array.from({ length: 20 }, () => client.getPlants({}, { signal })))
    expect([counts.length, new Set(counts)]).toEqual([20, new Set([1])])
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    const calls = Array.from({ length: 20 }, () => client.safe.getPlants({}, { fetch: never }))
    setTimeout(() => controller.abort('all'), 5)
    for (const { error } of await Promise.all(calls)) expect(error).toMatchObject({ kind: 'aborted', reason: 'all' })
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('aborts a loop over pages', async () => {
    const store = createFakePlantStore()
    const controller = new AbortController()
    const client = createPlantStoreClient({ ...store, signal: controller.signal })
    for (let id = 0; id < 4; id++) await client.createPlant({ id, name: `plant ${id}` })
    const names: string[] = []
    const loop = async () => {
      for await (const { name } of client.iterate.getPlants({ limit: 2 })) {
        names.push(name)
        controller.abort()
      }
    }
    await failureOf(loop(), AbortError)
    expect(names).toEqual(['plant 0', 'plant 1'])
  })
})

test('an attempt that timed out does not continue in the background', async () => {
  const attempts: Attempt[] = []
  const store = createFakePlantStore()
  const hooks = { request: (attempt: Attempt) => void attempts.push(attempt) }
  const client = createPlantStoreClient({ ...store, token: () => late, timeout: 50, retries: 0, hooks })
  let resolveToken = (_: string) => {}
  const late = new Promise<string>((resolve) => {
    resolveToken = resolve
  })
  await failureOf(client.getPlants(), TimeoutError)
  resolveToken(store.token)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect([attempts.length, store.requests.length]).toEqual([0, 0])
})
