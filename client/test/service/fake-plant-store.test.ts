/** What only the fake of `@plant-store/client/testing` has. */
import { describe, expect, test } from 'vitest'
import {
  ApiError,
  ConnectionError,
  createPlantStoreClient,
  type ErrorName,
  errorCodes,
  MalformedResponseError,
  type NewPlant,
  PlantStoreError,
  TimeoutError,
  UsageError,
} from '../../src/index.ts'
import { createApiError, createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

function caught(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}

test('its fetch accepts a Request as options, as Mock Service Worker passes it', async () => {
  const store = createFakePlantStore()
  const headers = { authorization: `Bearer ${store.token}`, 'content-type': 'application/json' }
  const body = '{"id":1,"name":"Ficus"}'
  const request = new Request(`${store.baseUrl}/plants`, { method: 'POST', headers, body })
  expect((await store.fetch(request.url, request)).status).toBe(200)
  expect(store.plants()).toEqual([{ id: 1n, name: 'Ficus' }])
})

test('it stores what the contract names, and nothing that is invalid', async () => {
  const store = createFakePlantStore()
  const headers = { authorization: `Bearer ${store.token}`, 'content-type': 'application/json' }
  const bodies = ['{"id":1,"name":"Ficus","other":2,"__proto__":{"tag":"x"}}', '{"id":"2","name":"Aloe"}', '{}']
  for (const body of bodies) await store.fetch(`${store.baseUrl}/plants`, { method: 'POST', headers, body })
  expect(store.plants()).toStrictEqual([{ id: 1n, name: 'Ficus' }])
})

test('a client works with only the fake', async () => {
  const store = createFakePlantStore()
  const client = createPlantStoreClient(store)
  await client.createPlant({ id: 9007199254740993n, name: 'Monstera', tag: 'aroid' })
  await client.createPlant({ id: 1, name: 'Ficus' })
  expect(store.plants()).toStrictEqual([
    { id: 9007199254740993n, name: 'Monstera', tag: 'aroid' },
    { id: 1n, name: 'Ficus' },
  ])
})

test('two fakes share nothing, and plants() returns a copy', async () => {
  const [one, other] = [createFakePlantStore(), createFakePlantStore()]
  await createPlantStoreClient(one).createPlant({ id: 1, name: 'Ficus' })
  expect(other.plants()).toEqual([])
  ;(one.plants() as unknown[]).pop()
  expect(one.plants()).toHaveLength(1)
})

test('plants() returns the plants of the named account', async () => {
  const store = createFakePlantStore()
  const token = store.createToken({ account: 'bob' })
  await createPlantStoreClient({ ...store, token }).createPlant({ id: 1, name: 'Ficus' })
  expect([store.plants('bob'), store.plants('carol'), store.plants()]).toEqual([[{ id: 1n, name: 'Ficus' }], [], []])
})

describe('add', () => {
  test('adds plants without a request, as if they had been created', async () => {
    const store = createFakePlantStore({ baseUrl: 'https://example.com/shop/' })
    store.add([
      { id: 9007199254740993n, name: 'Monstera', tag: 'aroid' },
      { id: 1, name: 'Ficus' },
    ])
    expect(store.requests).toEqual([])
    expect(store.plants()).toStrictEqual([
      { id: 9007199254740993n, name: 'Monstera', tag: 'aroid' },
      { id: 1n, name: 'Ficus' },
    ])
    const client = createPlantStoreClient(store)
    expect(await client.getPlants()).toEqual([{ name: 'Monstera', tag: 'aroid' }, { name: 'Ficus' }])
    await client.createPlant({ id: 1, name: 'Ficus' })
    expect(await failureOf(client.createPlant({ id: 1, name: 'Aloe' }), ApiError)).toMatchObject({ code: 40003 })
  })

  test('adds to the named account', async () => {
    const store = createFakePlantStore()
    store.add([{ id: 1, name: 'Ficus' }], 'bob')
    expect([store.plants(), store.plants('bob')]).toEqual([[], [{ id: 1n, name: 'Ficus' }]])
    const token = store.createToken({ account: 'bob', scopes: ['read'] })
    expect(await createPlantStoreClient({ ...store, token }).getPlants()).toEqual([{ name: 'Ficus' }])
  })

  test.each<[string, NewPlant, object]>([
    ['a missing name', { id: 2 } as NewPlant, { kind: 'usage', message: 'name: is required' }],
    ['an unsafe id', { id: 2 ** 53, name: '' }, { kind: 'usage', message: expect.stringMatching(/^id: /) }],
    ['a taken id', { id: 1, name: 'Aloe' }, { kind: 'api', status: 400, code: 40003 }],
    ['a body that is too large', { id: 2, name: 'x'.repeat(200) }, { kind: 'api', status: 413, code: 41300 }],
  ])('rejects %s, as the client and the service do', (_, plant, failure) => {
    const store = createFakePlantStore({ bodyLimit: 200 })
    store.add([{ id: 1, name: 'Ficus' }])
    const thrown = caught(() => store.add([plant]))
    expect(thrown).toBeInstanceOf(PlantStoreError)
    expect(thrown).toMatchObject(failure)
    expect(store.plants()).toHaveLength(1)
  })
})

describe('createApiError', () => {
  test.each(Object.keys(errorCodes) as ErrorName[])('creates %s as the client does', async (name) => {
    const created = createApiError({ name, operation: 'getPlants', requestId: 'abc', headers: { 'retry-after': '2' } })
    const code = errorCodes[name]
    const status = Math.floor(code / 100)
    const store = createFakePlantStore()
    const body = JSON.stringify({ error: code, message: created.body.message })
    store.failNext({ status, body, headers: { 'x-request-id': 'abc', 'retry-after': '2' } })
    const thrown = await failureOf(createPlantStoreClient({ ...store, retries: 0 }).getPlants(), ApiError)
    expect(created).toBeInstanceOf(ApiError)
    expect(created).toBeInstanceOf(PlantStoreError)
    expect(created.toJSON()).toEqual(thrown.toJSON())
    expect(created.headers.get('Retry-After')).toBe('2')
    expect(created.detail).not.toBe('')
  })

  test('may have another text', () => {
    const error = createApiError({ name: 'invalidBody', message: 'name: is required' })
    expect(error).toMatchObject({ kind: 'api', status: 400, code: 40002, detail: 'name: is required', method: 'POST' })
    expect(error.message).toBe('POST http://plant-store.test/plants: responded 400 (40002): name: is required')
  })

  test('belongs to the first operation that declares the status', () => {
    expect(createApiError({ name: 'idTaken' })).toMatchObject({ method: 'POST', kind: 'api', retryable: false })
    expect(createApiError({ name: 'unavailable' })).toMatchObject({ kind: 'api', status: 503, retryable: true })
    expect(createApiError({ name: 'methodNotAllowed' })).toMatchObject({ kind: 'undeclared', status: 405 })
    expect(createApiError({ name: 'bodyTooLarge', operation: 'getPlants' })).toMatchObject({ kind: 'undeclared' })
  })
})

test('it records its requests, without the token', async () => {
  const store = createFakePlantStore()
  const client = createPlantStoreClient({ ...store, headers: { 'x-job': '7', 'user-agent': 'app' } })
  await client.createPlant({ id: 1, name: 'Ficus' })
  await client.getPlants({ limit: 3 })
  expect(store.requests).toEqual([
    {
      method: 'POST',
      url: 'http://plant-store.test/plants',
      headers: { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'app', 'x-job': '7' },
      body: '{"id":1,"name":"Ficus"}',
    },
    {
      method: 'GET',
      url: 'http://plant-store.test/plants?limit=3',
      headers: { accept: 'application/json', 'user-agent': 'app', 'x-job': '7' },
      body: '',
    },
  ])
})

test('its base URL can be set', async () => {
  const store = createFakePlantStore({ baseUrl: 'https://example.com/shop/' })
  expect(await createPlantStoreClient(store).getPlants()).toEqual([])
  expect(store.requests[0]?.url).toBe('https://example.com/shop/plants')
})

test('its body limit can be set', async () => {
  const client = createPlantStoreClient(createFakePlantStore({ bodyLimit: 30 }))
  await client.createPlant({ id: 1, name: 'Ficus' })
  const error = await failureOf(client.createPlant({ id: 2, name: '🌱🌱🌱🌱' }), ApiError)
  expect(error).toMatchObject({ status: 413, code: 41300 })
})

test('it accepts a name up to its body limit, with digits and escapes', async () => {
  const store = createFakePlantStore({ bodyLimit: 2 ** 26 })
  const name = `"12345678901234567890\\"${'\n'.repeat(2 ** 20)}${'ж'.repeat(2 ** 21)}`
  await createPlantStoreClient(store).createPlant({ id: 9007199254740993n, name })
  const [plant] = store.plants()
  expect(plant?.id).toBe(9007199254740993n)
  // `toEqual` would print the whole name.
  expect(plant?.name === name).toBe(true)
})

test.each<[string, () => unknown, string]>([
  ['the fake', () => createFakePlantStore({ baseURL: 'http://a.b' } as object), 'baseURL: is not one of baseUrl'],
  ['a token', () => createFakePlantStore().createToken({ scope: 'read' } as object), 'scope: is not one of account'],
  ['a fault', () => createFakePlantStore().failNext({ code: 503 } as object), 'code: is not one of delay, '],
  [
    'a fault, as its status',
    () => createFakePlantStore().failNext({ status: 50300 }),
    'status: must be an integer from',
  ],
  [
    'a fault that has no response',
    () => createFakePlantStore().failNext({ connectionError: true, status: 503 }),
    'connectionError: has no response; remove status',
  ],
  ['a fault, as its body', () => createFakePlantStore().failNext({ body: {} } as object), 'body: must be a string'],
  [
    'a fault of a class',
    () =>
      createFakePlantStore().failNext(
        new (class {
          stauts = 503
          status = 503
        })(),
      ),
    'stauts: is not one of delay',
  ],
  ['a token, as its scope', () => createFakePlantStore().createToken({ scopes: ['all' as never] }), 'scopes: must be'],
  ['a token, as its expiry', () => createFakePlantStore().createToken({ expiresAt: 5 as never }), 'expiresAt: must be'],
  ['the fake, as its limit', () => createFakePlantStore({ bodyLimit: 0 }), 'bodyLimit: must be a positive integer'],
  ['the fake, as its URL', () => createFakePlantStore({ baseUrl: 'a.b' }), 'baseUrl: must have a scheme'],
  ['a fault, as its number', () => createFakePlantStore().failNext({}, 0), 'times: must be a positive integer'],
  ['an error', () => createApiError({ name: 'idTaken', code: 1 } as never), 'code: is not one of name, '],
  [
    'an error, as its name',
    () => createApiError({ name: 'toString' as never }),
    'name: is not an error of the catalogue',
  ],
  [
    'an error, as its operation',
    () => createApiError({ name: 'internal', operation: 'x' as never }),
    'operation: is not',
  ],
])('what is unknown in the options of %s is an error', (_, create, reason) => {
  const thrown = caught(create)
  expect(thrown).toBeInstanceOf(UsageError)
  expect(thrown).toMatchObject({ message: expect.stringContaining(reason) })
})

describe('failNext', () => {
  function storeWithoutRetries() {
    const store = createFakePlantStore()
    return { store, client: createPlantStoreClient({ ...store, retries: 0 }) }
  }
  const ficus = { id: 1, name: 'Ficus' }

  test('status: the store does nothing and responds with an Error body', async () => {
    const { store, client } = storeWithoutRetries()
    store.failNext({ status: 503, headers: { 'retry-after': '2' } })
    const error = await failureOf(client.createPlant(ficus), ApiError)
    expect(error).toMatchObject({ status: 503, code: 50300, retryAfterMs: 2000 })
    expect(store.plants()).toEqual([])
  })

  test.each([204, 205, 304])('status: a response with %s has no content', async (status) => {
    const { store, client } = storeWithoutRetries()
    for (const fault of [{ status }, { status, body: 'x' }, { status, cutBodyAfter: 5 }]) {
      store.failNext(fault)
      const error = await failureOf(client.getPlants(), MalformedResponseError)
      expect(error).toMatchObject({ status })
    }
  })

  test('body: the response has this body', async () => {
    const { store, client } = storeWithoutRetries()
    store.failNext({ status: 502, body: '<h1>Bad Gateway</h1>', headers: { 'content-type': 'text/html' } })
    const error = await failureOf(client.getPlants(), MalformedResponseError)
    expect(error).toMatchObject({ status: 502, message: expect.stringContaining('with text/html instead of JSON') })
  })

  test('cutBodyAfter: the plant is created, but the response breaks off', async () => {
    const { store, client } = storeWithoutRetries()
    for (const cutBodyAfter of [0, 5]) {
      store.failNext({ cutBodyAfter })
      await failureOf(client.createPlant(ficus), ConnectionError)
      expect(store.plants()).toHaveLength(1)
    }
  })

  test('connectionError: the request never arrives', async () => {
    const { store, client } = storeWithoutRetries()
    store.failNext({ connectionError: true })
    await failureOf(client.createPlant(ficus), ConnectionError)
    expect(store.plants()).toEqual([])
  })

  test('delay: the response is late, or the client times out', async () => {
    const { store, client } = storeWithoutRetries()
    store.failNext({ delay: 30 })
    const start = performance.now()
    await client.getPlants()
    expect(performance.now() - start).toBeGreaterThan(25)
    store.failNext({ delay: 60_000 })
    await failureOf(client.createPlant(ficus, { timeout: 20 }), TimeoutError)
    expect(store.plants()).toEqual([])
  })

  test('applies to as many requests as set, in order', async () => {
    const { store, client } = storeWithoutRetries()
    store.failNext({ status: 500 }, 2)
    store.failNext({ status: 403 })
    const errors: unknown[] = []
    for (let call = 0; call < 4; call++) errors.push((await client.safe.getPlants()).error)
    expect(errors).toMatchObject([{ status: 500 }, { status: 500 }, { status: 403 }, undefined])
  })
})
