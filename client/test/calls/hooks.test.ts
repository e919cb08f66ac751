/** Hooks see every attempt. */
import { describe, expect, test, vi } from 'vitest'
import { type Attempt, createPlantStoreClient, type Hooks, TokenError, UsageError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

const NAMES = ['request', 'response', 'error'] as const

type Event = [name: string, attempt: Attempt, ...others: unknown[]]

/** Creates hooks that record their name, after a prefix, and what they get. */
function recordTo(events: Event[], prefix = ''): Hooks {
  const hooks = NAMES.map((name) => [name, (...event: [Attempt]) => void events.push([prefix + name, ...event])])
  return Object.fromEntries(hooks)
}

const namesOf = (events: Event[]) => events.map(([name]) => name)

describe('hooks', () => {
  test('run for each attempt: request, response, and in the same turn error', async () => {
    const store = createFakePlantStore()
    const events: Event[] = []
    const later: Hooks = { response: (attempt) => queueMicrotask(() => events.push(['later', attempt])) }
    store.failNext(new TypeError('fetch failed'))
    store.failNext({ status: 503, delay: 30 })
    await createPlantStoreClient({ ...store, hooks: [recordTo(events), later] }).getPlants({ limit: 5 })
    const order = '1 request, 1 error, 2 request, 2 response, 2 error, 2 later, 3 request, 3 response, 3 later'
    expect(events.map(([name, { number }]) => `${number} ${name}`).join(', ')).toBe(order)
    const attempts = events.map(([, attempt]) => attempt)
    expect(new Set(attempts).size).toBe(3)
    const url = 'http://plant-store.test/plants?limit=5'
    const headers = { accept: 'application/json' }
    expect(attempts[0]).toMatchObject({ operation: 'getPlants', method: 'GET', url, headers })
    const [, , , response, failure] = events.map(([, , ...others]) => others)
    const duration = expect.toSatisfy((time: number) => time > 25)
    expect(response).toMatchObject([{ status: 503, requestId: expect.any(String), duration }])
    expect(failure).toMatchObject([{ kind: 'api', status: 503 }, expect.any(Number)])
  })

  test('may add headers to each attempt, and see those of earlier hooks', async () => {
    const store = createFakePlantStore()
    store.failNext({ status: 503 })
    const hooks = ['x-a', 'x-b'].map((name) => ({
      request: async (attempt: Attempt) => {
        attempt.headers[name] = `${attempt.number}, ${Object.keys(attempt.headers)}`
      },
    }))
    await createPlantStoreClient({ ...store, headers: { 'user-agent': 'app' }, hooks }).getPlants()
    const names = 'accept,user-agent'
    const added = [1, 2].map((number) => ({ 'x-a': `${number}, ${names}`, 'x-b': `${number}, ${names},x-a` }))
    expect(store.requests.map(({ headers }) => headers)).toMatchObject(added)
  })

  test('of the client and the call all run, in the order of the lists, the client’s first', async () => {
    const events: Event[] = []
    const named = (name: string) => recordTo(events, `${name} `)
    const store = createFakePlantStore()
    const client = createPlantStoreClient({ ...store, retries: 0, hooks: [named('a'), named('b')] })
    store.failNext({ status: 503 })
    await client.withOptions({ hooks: named('c') }).safe.getPlants({}, { hooks: [named('d')] })
    expect(namesOf(events)).toEqual(NAMES.flatMap((hook) => ['a', 'b', 'c', 'd'].map((name) => `${name} ${hook}`)))
  })

  test('with a request hook that fails, nothing is sent, and what has begun ends', async () => {
    const store = createFakePlantStore()
    const events: Event[] = []
    const broken = { request: () => expect.fail('no trace') }
    const hooks = [recordTo(events, 'first '), broken, recordTo(events, 'last ')]
    const client = createPlantStoreClient({ ...store, hooks })
    const error = await failureOf(client.getPlants(), UsageError)
    expect(error).toMatchObject({ attempts: 0, cause: { message: 'no trace' }, issues: [{ path: 'hooks.request' }] })
    expect(namesOf(events)).toEqual(['first request', 'first error'])
    expect(store.requests).toHaveLength(0)
  })

  test('run before the token, so that a token function that fails ends what they began, and is retried', async () => {
    const events: Event[] = []
    const cause = new Error('vault is sealed')
    const token = (request: unknown) => Promise.reject(events.push(['token', request as Attempt]) && cause)
    const options = { hooks: recordTo(events), token, retries: 1, retryDelay: 0 }
    const error = await failureOf(
      createPlantStoreClient({ ...createFakePlantStore(), ...options }).getPlants(),
      TokenError,
    )
    expect(error).toMatchObject({ attempts: 0, cause, detail: 'token: failed: vault is sealed' })
    expect(namesOf(events).join()).toBe('request,token,error,request,token,error')
  })

  test.each([
    ['throw', () => expect.fail('no metrics')],
    ['reject', () => Promise.reject(new Error('no metrics'))],
    ['never settle', () => new Promise(() => {})],
  ])('that only observe and %s change nothing', async (_, run) => {
    const store = createFakePlantStore()
    store.failNext({ status: 503 })
    const events: Event[] = []
    const observe = vi.fn(run)
    const hooks = [undefined, { response: observe, error: observe }, recordTo(events)]
    await createPlantStoreClient({ ...store, hooks }).getPlants()
    expect(observe).toHaveBeenCalledTimes(3)
    expect(namesOf(events).join()).toBe('request,response,error,request,response')
  })
})
