// The SDK and the fake in Jest, in the environment that the command line sets.
const { ApiError, ConnectionError, createPlantStoreClient } = require('@plant-store/client')
const { createApiError, createFakePlantStore } = require('@plant-store/client/testing')

const isJsdom = typeof window === 'object'

test('the fake responds as everywhere', async () => {
  const store = createFakePlantStore()
  store.add([{ id: 9007199254740993n, name: 'Monstera 🌱' }])
  const client = createPlantStoreClient({ ...store, retries: 1 })
  expect(await client.createPlant({ id: 1, name: 'Ficus', tag: 'fig' })).toEqual({ name: 'Ficus', tag: 'fig' })
  const plants = []
  for await (const plant of client.iterate.getPlants({ limit: 1 })) plants.push(plant)
  expect(plants).toEqual([{ name: 'Monstera 🌱' }, { name: 'Ficus', tag: 'fig' }])
  const { error } = await client.safe.createPlant({ id: 1, name: 'Aloe' })
  for (const each of [error, createApiError({ name: 'idTaken' })]) expect(each).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({ code: 40003, requestId: expect.any(String) })
  const agents = store.requests.map(({ headers }) => headers['user-agent'])
  expect(new Set(agents)).toEqual(new Set([isJsdom ? undefined : expect.stringMatching(/^plant-store-client\//)]))
})

test('faults of the fake are the errors that they imitate', async () => {
  const store = createFakePlantStore()
  const client = createPlantStoreClient({ ...store, retries: 0 })
  const failure = async (fault, options) => {
    store.failNext(fault)
    return await client.getPlants({}, options).catch((error) => error)
  }
  expect(await failure(new TypeError('terminated'))).toBeInstanceOf(ConnectionError)
  expect(await failure({ status: 503, headers: { 'retry-after': '2' } })).toMatchObject({ retryAfterMs: 2000 })
  expect(await failure({ status: 200, body: '<h1>' })).toMatchObject({ kind: 'malformed-response' })
  const controller = new AbortController()
  setTimeout(() => controller.abort('left'), 20)
  expect(await failure({ delay: 60_000 }, { signal: controller.signal })).toMatchObject({ reason: 'left' })
})

test('a real request is sent, or the error names what is missing', async () => {
  const { SERVICE_URL, SERVICE_TOKEN, EXPECTED_FAILURE } = process.env
  const list = async () => await createPlantStoreClient({ baseUrl: SERVICE_URL, token: SERVICE_TOKEN }).getPlants()
  if (EXPECTED_FAILURE) await expect(list()).rejects.toThrow(EXPECTED_FAILURE)
  else expect(await list()).toEqual([])
})
