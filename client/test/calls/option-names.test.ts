/** An option that does not exist is an error that names the nearest one. */
import { describe, expect, test } from 'vitest'
import { type CallOptions, type ClientOptions, createPlantStoreClient, RequestError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

const MISTAKES: Record<string, string> = {
  maxRetries: 'retries',
  retry: 'retries',
  retryCount: 'retries',
  numRetries: 'retries',
  apiKey: 'token',
  api_key: 'token',
  accessToken: 'token',
  auth: 'token',
  bearerToken: 'token',
  clientSecret: 'token',
  timeoutMs: 'timeout',
  requestTimeout: 'timeout',
  abortSignal: 'signal',
  cancelSignal: 'signal',
  header: 'headers',
  defaultHeaders: 'headers',
  customFetch: 'fetch',
  fetcher: 'fetch',
  fetchOptions: 'fetch',
  hook: 'hooks',
  logLevel: 'logger',
  log: 'logger',
}

const CLIENT_MISTAKES: Record<string, string> = {
  baseURL: 'baseUrl',
  base_url: 'baseUrl',
  basePath: 'baseUrl',
  url: 'baseUrl',
  apiUrl: 'baseUrl',
  serverURL: 'baseUrl',
  uri: 'baseUrl',
  endpoint: 'baseUrl',
  host: 'baseUrl',
}

function rejectionOf(options: object): string {
  try {
    createPlantStoreClient(options as ClientOptions)
  } catch (error) {
    expect(error).toBeInstanceOf(RequestError)
    return (error as RequestError).message
  }
  return 'not rejected'
}

describe('an unknown option', () => {
  test.each(Object.entries({ ...MISTAKES, ...CLIENT_MISTAKES }))('%s of a client means %s', (name, nearest) => {
    const message = `${name}: is not an option; did you mean ${nearest}?`
    expect(rejectionOf({ ...createFakePlantStore(), [name]: 1 })).toBe(message)
    // Before the error that an option is missing.
    expect(rejectionOf({ [name]: 'https://example.com' })).toBe(message)
  })

  test.each(Object.entries(MISTAKES))('%s of a call means %s', async (name, nearest) => {
    const store = createFakePlantStore()
    const client = createPlantStoreClient(store)
    const options = { [name]: 1 } as CallOptions
    const errors = [
      await failureOf(client.getPlants({}, options), RequestError),
      await failureOf(client.createPlant({ id: 1, name: 'Ficus' }, options), RequestError),
      await failureOf(client.raw.getPlants({}, options), RequestError),
      await failureOf(client.iterate.getPlants({}, options).next(), RequestError),
      await failureOf((async () => client.withOptions(options))(), RequestError),
    ]
    for (const { detail } of errors) expect(detail).toBe(`${name}: is not an option; did you mean ${nearest}?`)
    expect(store.requests).toEqual([])
  })

  test.each(['cache', 'query', 'limit', 'idempotent'])('%s resembles none', (name) => {
    expect(rejectionOf({ ...createFakePlantStore(), [name]: 1 })).toBe(`${name}: is not an option`)
  })

  test.each(['baseUrl', 'url'])('of a call is %s too, which belongs to the client', async (name) => {
    const call = createPlantStoreClient(createFakePlantStore()).getPlants({}, {
      [name]: 'http://localhost',
    } as CallOptions)
    expect((await failureOf(call, RequestError)).detail).toBe(`${name}: is not an option`)
  })
})

describe('these options are valid', () => {
  test('a fake, a spread of it, and a class with other fields', async () => {
    const store = createFakePlantStore()
    class Configuration {
      readonly region = 'eu'
      readonly baseUrl = store.baseUrl
      readonly fetch = store.fetch
      get token() {
        return store.token
      }
    }
    for (const options of [store, { ...store }, { ...store, retries: 0 }, new Configuration()]) {
      expect(await createPlantStoreClient(options).getPlants()).toEqual([])
    }
  })

  test('every option, also as undefined', async () => {
    const unset = { timeout: undefined, retries: undefined, signal: undefined, headers: undefined, fetch: undefined }
    const client = createPlantStoreClient({ ...createFakePlantStore(), hooks: undefined, logger: undefined })
    expect(await client.getPlants({}, { ...unset, fetch: createFakePlantStore().fetch, hooks: [] })).toEqual([])
  })
})
