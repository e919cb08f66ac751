/** Hooks and the logger see every attempt, and no secrets. */
import { describe, expect, test, vi } from 'vitest'
import { type Attempt, createPlantStoreClient, type Hooks, PlantStoreError, RequestError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

function recordingHooks() {
  const events: [string, Attempt, ...unknown[]][] = []
  const hooks: Hooks = {
    request: (attempt) => void events.push(['request', attempt]),
    response: (attempt, response) => void events.push(['response', attempt, response]),
    error: (attempt, error, delay) => void events.push(['error', attempt, error, delay]),
  }
  return { events, hooks }
}

describe('hooks', () => {
  test('run for each attempt: request, response, error', async () => {
    const store = createFakePlantStore()
    const { events, hooks } = recordingHooks()
    store.failNext({ connectionError: true })
    store.failNext({ status: 503 })
    await createPlantStoreClient({ ...store, hooks }).getPlants({ limit: 5 })
    expect(events.map(([name, { number }]) => [name, number])).toEqual([
      ['request', 1],
      ['error', 1],
      ['request', 2],
      ['response', 2],
      ['error', 2],
      ['request', 3],
      ['response', 3],
    ])
    const attempts = events.map(([, attempt]) => attempt)
    expect(new Set(attempts).size).toBe(3)
    expect(attempts[0]).toMatchObject({
      operation: 'getPlants',
      method: 'GET',
      url: 'http://plant-store.test/plants?limit=5',
      headers: { accept: 'application/json' },
    })
  })

  test('receive the response and the error', async () => {
    const store = createFakePlantStore()
    const { events, hooks } = recordingHooks()
    store.failNext({ status: 400, delay: 30 })
    await failureOf(createPlantStoreClient({ ...store, hooks }).getPlants(), PlantStoreError)
    const [, response, failure] = events
    expect(response?.[2]).toMatchObject({ status: 400, requestId: expect.any(String), duration: expect.any(Number) })
    expect(response?.[2]).toHaveProperty(
      'duration',
      expect.toSatisfy((duration: number) => duration > 25),
    )
    expect(failure?.slice(2)).toEqual([expect.objectContaining({ kind: 'api', status: 400 }), undefined])
  })

  test('may add headers to each attempt, and never see the token', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503 })
    const request = async (attempt: Attempt) => {
      expect(JSON.stringify(attempt)).not.toContain(store.token)
      expect(attempt.headers).not.toHaveProperty('traceparent')
      attempt.headers['traceparent'] = `00-trace-${attempt.number}`
    }
    await createPlantStoreClient({ ...store, hooks: { request } }).getPlants()
    expect(store.requests.map(({ headers }) => headers['traceparent'])).toEqual(['00-trace-1', '00-trace-2'])
  })

  test('cannot replace the token with an authorization header', async () => {
    const store = createFakePlantStore()
    const request = (attempt: Attempt) => {
      attempt.headers['Authorization'] = 'Bearer another'
    }
    expect(await createPlantStoreClient({ ...store, hooks: { request } }).getPlants()).toEqual([])
  })

  test('of the client and the call all run, in the order of the lists, the client’s first', async () => {
    const order: string[] = []
    const named = (name: string): Hooks => ({
      request: async () => void order.push(`${name} request`),
      response: () => void order.push(`${name} response`),
      error: () => void order.push(`${name} error`),
    })
    const store = createFakePlantStore()
    const client = createPlantStoreClient({ ...store, retries: 0, hooks: [named('a'), named('b')] })
    store.failNext({ status: 503 })
    await failureOf(client.withOptions({ hooks: named('c') }).getPlants({}, { hooks: [named('d')] }), PlantStoreError)
    const names = ['a', 'b', 'c', 'd']
    expect(order).toEqual(['request', 'response', 'error'].flatMap((hook) => names.map((name) => `${name} ${hook}`)))
    order.length = 0
    await client.getPlants()
    expect(order).toEqual(['a request', 'b request', 'a response', 'b response'])
  })

  test('may be absent from a list', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503 })
    const { events, hooks } = recordingHooks()
    await createPlantStoreClient({ ...store, hooks: [undefined, hooks] }).getPlants()
    expect(events.map(([name]) => name)).toEqual(['request', 'response', 'error', 'request', 'response'])
  })

  test('see the headers that earlier hooks have added', async () => {
    const store = createFakePlantStore()
    const add = (name: string): Hooks => ({
      request: ({ headers }) => {
        headers[name] = `${Object.keys(headers).length}`
      },
    })
    await createPlantStoreClient({
      ...store,
      headers: { 'user-agent': 'app' },
      hooks: [add('x-a'), add('x-b')],
    }).getPlants()
    expect(store.requests[0]?.headers).toMatchObject({ 'x-a': '2', 'x-b': '3' })
  })

  test('that throw do not keep the next ones from observing', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503 })
    const fail = () => expect.fail('no metrics')
    const { events, hooks } = recordingHooks()
    await createPlantStoreClient({ ...store, hooks: [{ response: fail, error: fail }, hooks] }).getPlants()
    expect(events.map(([name]) => name)).toEqual(['request', 'response', 'error', 'request', 'response'])
  })

  test('keep their `this`', async () => {
    class Metrics {
      readonly statuses: number[] = []
      response(_: Attempt, { status }: { status: number }) {
        this.statuses.push(status)
      }
    }
    const metrics = new Metrics()
    await createPlantStoreClient({ ...createFakePlantStore(), hooks: metrics }).getPlants()
    expect(metrics.statuses).toEqual([200])
  })

  test.each([
    ['throws', () => expect.fail('no trace')],
    ['rejects', () => Promise.reject(new Error('no trace'))],
  ])('with a request hook that %s, nothing is sent', async (_, request) => {
    const store = createFakePlantStore()
    const error = await failureOf(createPlantStoreClient({ ...store, hooks: { request } }).getPlants(), RequestError)
    expect(error).toMatchObject({ attempts: 0, cause: { message: 'no trace' } })
    expect(error.message).toBe('GET http://plant-store.test/plants: hooks.request: the function failed')
    expect(store.requests).toHaveLength(0)
  })

  test.each([
    ['throw', () => expect.fail('no metrics')],
    ['reject', () => Promise.reject(new Error('no metrics'))],
    ['never settle', () => new Promise(() => {})],
  ])('that only observe and %s change nothing', async (_, observe) => {
    const store = createFakePlantStore()
    store.failNext({ status: 503 })
    const client = createPlantStoreClient({ ...store, hooks: { response: observe, error: observe } })
    expect((await client.raw.getPlants()).attempts).toBe(2)
  })
})

describe('the logger', () => {
  test('gets a line for each response and each retry', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503 })
    const logger = { debug: vi.fn(), warn: vi.fn() }
    const { requestId } = await createPlantStoreClient({ ...store, logger }).raw.createPlant({ id: 1, name: 'Ficus' })
    const line = /^POST http:\/\/plant-store\.test\/plants: (\d+) in \d+\.\d ms, request (\S+)$/
    const lines = logger.debug.mock.calls.map(([text]) => line.exec(text)?.slice(1))
    expect(lines).toEqual([
      ['503', expect.any(String)],
      ['200', requestId],
    ])
    expect(logger.warn.mock.calls).toEqual([
      [expect.stringMatching(/^POST http.*: responded 503 \(50300\): .*; retrying in \d+ ms$/)],
    ])
  })

  test('may throw without effect', async () => {
    const fail = () => expect.fail('disk full')
    const client = createPlantStoreClient({ ...createFakePlantStore(), logger: { debug: fail, warn: fail } })
    expect(await client.getPlants()).toEqual([])
  })

  test('may be the console', () => {
    expect(() => createPlantStoreClient({ ...createFakePlantStore(), logger: console })).not.toThrow()
  })
})
