/** Nothing hangs: every attempt has a timeout, and every call can be aborted. */
import { EventEmitter, getEventListeners, once } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { until } from '../../../test/helpers/programs.ts'
import { AbortError, createPlantStoreClient, TimeoutError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { type Handler, startTinyServer } from '../helpers/tiny-server.ts'

const silent: Handler = () => {}
const stalling: Handler = (response) => response.writeHead(200).write('[{"name":')

describe('timeout', () => {
  test.each([
    ['does not respond', silent],
    ['does not finish its response', stalling],
  ])('ends an attempt on a server that %s, and closes the connection', async (_, handler) => {
    let closed = 0
    await using server = await startTinyServer((response, ...others) => {
      response.on('close', () => closed++)
      handler(response, ...others)
    })
    const error = await failureOf(server.createClient({ timeout: 50, retries: 0 }).getPlants(), TimeoutError)
    expect(error).toMatchObject({ kind: 'timeout', name: 'TimeoutError', attempts: 1 })
    expect(error.message).toBe(`GET ${server.url}/plants: timed out after 50 ms`)
    // On a busy machine the request may not have arrived.
    await until(() => closed === server.requests.length)
  })

  test('applies to each attempt, and Infinity never ends one', async () => {
    const store = createFakePlantStore()
    store.failNext({ delay: 60_000 }, 2)
    const { raw, getPlants } = createPlantStoreClient({ ...store, timeout: 200 })
    expect((await raw.getPlants()).attempts).toBe(3)
    store.failNext({ delay: 100 })
    expect(await getPlants({}, { timeout: Number.POSITIVE_INFINITY, retries: 0 })).toEqual([])
  })
})

describe('signal', () => {
  test.each([
    ['client', 'does not respond', silent],
    ['call', 'does not finish its response', stalling],
  ] as const)('of the %s aborts a call on a server that %s, with its reason', async (which, _, handler) => {
    await using server = await startTinyServer(handler)
    const controllers = { client: new AbortController(), call: new AbortController() }
    const client = server.createClient({ signal: controllers.client.signal })
    const reason = new Error('page left')
    const failed = failureOf(client.getPlants({}, { signal: controllers.call.signal }), AbortError)
    await until(() => server.requests.length === 1)
    controllers[which].abort(reason)
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

  test('has one listener for all calls, of more Node.js would warn, and none after them', async () => {
    const [client, call] = [new AbortController(), new AbortController()]
    const counts = () => [client, call].map(({ signal }) => getEventListeners(signal, 'abort').length)
    const store = createFakePlantStore()
    store.failNext({ delay: 60_000 }, Number.POSITIVE_INFINITY)
    const { safe } = createPlantStoreClient({ ...store, signal: client.signal, retries: 0 })
    const calls = Array.from({ length: 20 }, () => safe.getPlants({}, { signal: call.signal }))
    const others = Array.from({ length: 20 }, () => safe.getPlants())
    expect(counts()).toEqual([1, 1])
    call.abort()
    expect((await Promise.all(calls)).map(({ error }) => error?.kind)).toEqual(calls.map(() => 'aborted'))
    expect(counts()).toEqual([1, 0])
    client.abort()
    expect((await Promise.all(others)).map(({ error }) => error?.kind)).toEqual(others.map(() => 'aborted'))
    expect(counts()).toEqual([0, 0])
  })
})

test('an attempt that timed out does not continue in the background', async () => {
  const store = createFakePlantStore()
  const request = vi.fn()
  const tokens = new EventEmitter()
  const token = () => once(tokens, 'token').then(([text]) => text)
  const client = createPlantStoreClient({ ...store, token, timeout: 50, retries: 0, hooks: { request } })
  await failureOf(client.getPlants(), TimeoutError)
  tokens.emit('token', store.token)
  await new Promise((done) => setTimeout(done, 20))
  expect([request.mock.calls.length, store.requests.length]).toEqual([1, 0])
})
