/** What only the fake of `@plant-store/client/testing` has. */
import { describe, expect, test } from 'vitest'
import {
  ApiError,
  ConnectionError,
  createPlantStoreClient,
  MalformedResponseError,
  TimeoutError,
} from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

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

test('it records its requests, without the token', async () => {
  const store = createFakePlantStore()
  const client = createPlantStoreClient({ ...store, headers: { 'x-job': '7' } })
  await client.createPlant({ id: 1, name: 'Ficus' })
  await client.getPlants({ limit: 3 })
  expect(store.requests).toEqual([
    {
      method: 'POST',
      url: 'http://plant-store.test/plants',
      headers: { accept: 'application/json', 'content-type': 'application/json', 'x-job': '7' },
      body: '{"id":1,"name":"Ficus"}',
    },
    {
      method: 'GET',
      url: 'http://plant-store.test/plants?limit=3',
      headers: { accept: 'application/json', 'x-job': '7' },
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
  const name = `"12345678901234567890\\"${'\n'.repeat(2 ** 22)}${'ж'.repeat(2 ** 24)}`
  await createPlantStoreClient(store).createPlant({ id: 9007199254740993n, name })
  const [plant] = store.plants()
  expect(plant?.id).toBe(9007199254740993n)
  // `toEqual` would print the whole name.
  expect(plant?.name === name).toBe(true)
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
