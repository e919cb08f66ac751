/** What only the fake of `@plant-store/client/testing` has. */
import { describe, expect, test } from 'vitest'
import type * as sdk from '../../src/index.ts'
import { ApiError, createPlantStoreClient, errorCodes, UsageError } from '../../src/index.ts'
import { jsonResponse } from '../../src/testing/fetch.ts'
import { createApiError, createFakePlantStore, type Fault } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

test('it stores what the contract names of a Request, as Mock Service Worker passes it, and nothing invalid', async () => {
  const store = createFakePlantStore()
  const headers = { authorization: `Bearer ${store.token}`, 'content-type': 'application/json' }
  const bodies = ['{"id":1,"name":"Ficus","other":2,"__proto__":{"tag":"x"}}', '{"id":"2","name":"Aloe"}', '{}']
  const requests = bodies.map((body) => new Request(`${store.baseUrl}/plants`, { method: 'POST', headers, body }))
  const responses = await Promise.all(requests.map((request) => store.fetch(request.url, request)))
  expect(responses.map(({ status }) => status)).toEqual([200, 400, 400])
  expect(store.plants()).toStrictEqual([{ id: 1n, name: 'Ficus' }])
})

test('an int64 in a response is exact', () => {
  const { body } = jsonResponse(200, [{ id: 2n ** 63n - 1n, name: '\\u00001' }, -(2n ** 63n)], {})
  expect(body).toBe('[{"id":9223372036854775807,"name":"\\\\u00001"},-9223372036854775808]')
})

const monstera = { id: 9007199254740993n, name: 'Monstera', tag: 'aroid' }
const ficus = { id: 1n, name: 'Ficus' }

describe('add', () => {
  test('adds plants to an account of this fake without a request, and plants() returns a copy of them', async () => {
    const [store, other] = [createFakePlantStore({ baseUrl: 'https://example.com/shop/' }), createFakePlantStore()]
    store.add([monstera, { id: 1, name: 'Ficus' }])
    store.add([{ id: 1, name: 'Aloe' }], 'bob')
    ;(store.plants() as unknown[]).pop()
    expect([store.requests, store.plants(), store.plants('carol')]).toStrictEqual([[], [monstera, ficus], []])
    expect(other.plants()).toEqual([])
    const client = createPlantStoreClient(store)
    expect(await client.getPlants()).toEqual([{ name: 'Monstera', tag: 'aroid' }, { name: 'Ficus' }])
    expect(store.requests[0]?.url).toBe('https://example.com/shop/plants')
    await client.createPlant({ id: 1, name: 'Ficus' })
    expect(await failureOf(client.createPlant({ id: 1, name: 'Aloe' }), ApiError)).toMatchObject({ code: 40003 })
    const token = store.createToken({ account: 'bob', scopes: ['read'] })
    expect(await createPlantStoreClient({ ...store, token }).getPlants()).toEqual([{ name: 'Aloe' }])
    expect(store.plants('bob')).toEqual([{ id: 1n, name: 'Aloe' }])
  })

  test.each<[string, sdk.NewPlant, object]>([
    ['a missing name', { id: 2 } as sdk.NewPlant, { kind: 'usage', message: 'name: is required' }],
    ['a taken id', { id: 1, name: 'Aloe' }, { kind: 'api', status: 400, code: 40003 }],
    ['a body of too many bytes', { id: 2, name: '🌱'.repeat(2 ** 18) }, { kind: 'api', status: 413, code: 41300 }],
  ])('rejects %s, as the client and the service do', (_, plant, failure) => {
    const store = createFakePlantStore()
    store.add([{ id: 1, name: 'Ficus' }])
    expect(() => store.add([plant])).toThrow(expect.objectContaining(failure))
    expect(store.plants()).toHaveLength(1)
  })
})

describe('createApiError', () => {
  test.each(['notFound', 'unavailable'] as const)('creates %s as the client does', async (name) => {
    const headers = { 'x-request-id': 'abc', 'retry-after': '2' }
    const created = createApiError({ name, operation: 'getPlants', headers })
    const store = createFakePlantStore()
    const body = JSON.stringify({ error: errorCodes[name], message: created.body.message })
    store.failNext({ status: Math.floor(errorCodes[name] / 100), body, headers })
    const thrown = await failureOf(createPlantStoreClient({ ...store, retries: 0 }).getPlants(), ApiError)
    expect(created).toBeInstanceOf(ApiError)
    expect(created.toJSON()).toEqual(thrown.toJSON())
    expect(created.headers.get('Retry-After')).toBe('2')
  })

  test('belongs to the first operation that declares the status, and may have another text', () => {
    const error = createApiError({ name: 'invalidBody', message: 'name: is required' })
    expect(error.message).toBe('POST http://plant-store.test/plants: responded 400 (40002): name: is required')
    expect(createApiError({ name: 'idTaken' })).toMatchObject({ method: 'POST', kind: 'api', retryable: false })
    expect(createApiError({ name: 'unavailable' })).toMatchObject({ kind: 'api', status: 503, retryable: true })
    expect(createApiError({ name: 'methodNotAllowed' })).toMatchObject({ kind: 'undeclared', status: 405 })
    expect(createApiError({ name: 'bodyTooLarge', operation: 'getPlants' })).toMatchObject({ kind: 'undeclared' })
  })
})

test('it records its requests, without the token', async () => {
  const store = createFakePlantStore()
  const client = createPlantStoreClient({ ...store, headers: { 'user-agent': 'app' } })
  await client.createPlant({ id: 1, name: 'Ficus' })
  await client.getPlants({ limit: 3 })
  const headers = { accept: 'application/json', 'user-agent': 'app' }
  const withBody = { headers: { ...headers, 'content-type': 'application/json' }, body: '{"id":1,"name":"Ficus"}' }
  expect(store.requests).toEqual([
    { method: 'POST', url: 'http://plant-store.test/plants', ...withBody },
    { method: 'GET', url: 'http://plant-store.test/plants?limit=3', headers, body: '' },
  ])
})

const fail = (fault: object, times?: number) => () => createFakePlantStore().failNext(fault, times)
const createToken = (token: object) => () => createFakePlantStore().createToken(token)
const createError = (options: object) => () => createApiError(options as never)

test.each<[reason: string, () => unknown]>([
  ['baseURL: is not one of baseUrl', () => createFakePlantStore({ baseURL: 'http://a.b' } as object)],
  ['baseUrl: must have a scheme', () => createFakePlantStore({ baseUrl: 'a.b' })],
  ['scope: is not one of account', createToken({ scope: 'read' })],
  ['scopes: must be', createToken({ scopes: ['all'] })],
  ['expiresAt: must be', createToken({ expiresAt: 5 })],
  ['code: is not one of delay, ', fail({ code: 503 })],
  ...[50300, 204, 205, 304].map((status): [string, () => unknown] => ['status: must be an int', fail({ status })]),
  ['connectionError: has no response; remove status', fail({ connectionError: true, status: 503 })],
  ['body: must be a string', fail({ body: {} })],
  ['times: must be a positive integer', fail({}, 0)],
  ['code: is not one of name, ', createError({ name: 'idTaken', code: 1 })],
  ['name: is not an error of the catalogue', createError({ name: 'toString' })],
  ['operation: is not', createError({ name: 'internal', operation: 'x' })],
])('an option that is unknown or invalid is an error: %s', (reason, create) => {
  expect(create).toThrow(UsageError)
  expect(create).toThrow(reason)
})

describe('failNext', () => {
  const page = { status: 502, body: '<h1>Bad Gateway</h1>', headers: { 'content-type': 'text/html' } }
  test.each<[title: string, fault: Fault, error: object, stored: number]>([
    ['does nothing', { status: 503, headers: { 'retry-after': '2' } }, { code: 50300, retryAfterMs: 2000 }, 0],
    ['responds with a page', page, { kind: 'malformed-response', status: 502, text: page.body }, 0],
    ['never gets the request', { connectionError: true }, { kind: 'connection' }, 0],
    ['breaks off in the body', { cutBodyAfter: 5 }, { kind: 'connection' }, 1],
    ['responds too late', { delay: 60_000 }, { kind: 'timeout' }, 0],
    ['responds late', { delay: 30 }, {}, 1],
  ])('the store %s: %o', async (_, fault, error, stored) => {
    const store = createFakePlantStore()
    const client = createPlantStoreClient({ ...store, retries: 0, timeout: fault.delay === 60_000 ? 50 : 20_000 })
    store.failNext(fault)
    const start = performance.now()
    const result = await client.safe.createPlant(ficus)
    expect(result.error ?? {}).toMatchObject(error)
    expect(performance.now() - start).toBeGreaterThan(Math.min(fault.delay ?? 0, 50) - 5)
    expect(store.plants()).toHaveLength(stored)
  })
})
