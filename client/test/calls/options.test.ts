/** The options of a client and of a call: effects, precedence and validation. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type CallOptions, type ClientOptions, createPlantStoreClient, RequestError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { sendJson, startTinyServer } from '../helpers/tiny-server.ts'

const listNothing = () => startTinyServer((response) => sendJson(response, 200, []))

afterEach(() => vi.unstubAllEnvs())

function rejectionOf(options: ClientOptions): string {
  try {
    createPlantStoreClient(options)
  } catch (error) {
    expect(error).toBeInstanceOf(RequestError)
    return (error as RequestError).message
  }
  return 'not rejected'
}

describe('baseUrl', () => {
  test.each(['', '/', '//', '/shop', '/shop/', '/a/b%20c'])('may have the path "%s"', async (path) => {
    await using server = await listNothing()
    await createPlantStoreClient({ baseUrl: server.url + path, token: 'pst_test' }).getPlants({ limit: 5 })
    expect(server.requests.map(({ url }) => url)).toEqual([`${path.replace(/\/+$/, '')}/plants?limit=5`])
  })

  test.each([
    ['', 'is not a URL'],
    ['plants.example.com', 'is not a URL'],
    ['/plants', 'is not a URL'],
    ['ftp://example.com', 'must start with https:// or http://'],
    ['javascript:alert(1)', 'must start with https:// or http://'],
    ['https://me:secret@example.com', 'must not contain a user name or password'],
    ['https://example.com/?a=1', 'must not contain a query or fragment'],
    ['https://example.com/#a', 'must not contain a query or fragment'],
  ])('%j is rejected: %s', (baseUrl, reason) => {
    const message = rejectionOf({ baseUrl, token: 'pst_test' })
    expect(message).toContain(`baseUrl: ${reason}`)
    expect(message).not.toContain('secret')
  })
})

describe('token', () => {
  test.each(['', ' ', 'two words', 'line\nbreak', 'tök', 'a\0b'])('%j is rejected, and not shown', (token) => {
    const message = rejectionOf({ baseUrl: 'http://localhost', token })
    expect(message).toMatch(/^token: /)
    if (token.trim()) expect(message).not.toContain(token)
  })

  test('is sent as a bearer token', async () => {
    await using server = await listNothing()
    await createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' }).getPlants()
    expect(server.requests[0]?.headers.authorization).toBe('Bearer pst_test')
  })

  test('may be a function, which runs once per call', async () => {
    await using server = await listNothing()
    const token = vi.fn(async () => `pst_${token.mock.calls.length}`)
    const client = createPlantStoreClient({ baseUrl: server.url, token })
    expect(token).not.toHaveBeenCalled()
    await client.getPlants()
    await client.getPlants()
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer pst_1', 'Bearer pst_2'])
    expect(token).toHaveBeenCalledWith({ rejected: false })
  })

  test('of a call overrides that of the client', async () => {
    await using server = await listNothing()
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_client' })
    await client.getPlants({}, { token: () => 'pst_call' })
    expect(server.requests[0]?.headers.authorization).toBe('Bearer pst_call')
  })

  test.each([
    ['returns undefined', () => undefined as unknown as string, 'token: must be a string'],
    ['returns an empty string', () => '', 'token: is empty'],
    ['throws', () => Promise.reject(new Error('vault is sealed')), 'token: the function failed'],
  ])('function that %s fails the call, and nothing is sent', async (_, token, reason) => {
    await using server = await listNothing()
    const client = createPlantStoreClient({ baseUrl: server.url, token })
    const error = await failureOf(client.getPlants(), RequestError)
    expect(error).toMatchObject({ message: `GET ${server.url}/plants: ${reason}`, attempts: 0 })
    expect(server.requests).toHaveLength(0)
  })

  test('that is missing fails the call, and the error says where to set it', async () => {
    vi.stubEnv('PLANT_STORE_TOKEN', undefined)
    const error = await failureOf(createPlantStoreClient({ baseUrl: 'http://localhost:1' }).getPlants(), RequestError)
    expect(error.message).toContain('token: is missing; set the `token` option or PLANT_STORE_TOKEN')
  })
})

describe('a token or URL that is undefined', () => {
  const missing = undefined as unknown as string
  const explain = (name: string) => `${name}: is undefined; set a value, or omit the option to use the default`
  class Forwarded {
    get token() {
      return missing
    }
  }

  test.each<[string, () => ClientOptions, string]>([
    ['a token', () => ({ token: missing }), explain('token')],
    ['a token in a spread', () => ({ ...{ retries: 0, token: missing } }), explain('token')],
    ['an inherited token', () => new Forwarded(), explain('token')],
    ['a null token', () => ({ token: null as unknown as string }), 'token: must be a string'],
    ['a URL', () => ({ baseUrl: missing, token: 'pst_test' }), explain('baseUrl')],
    ['a null URL', () => ({ baseUrl: null as unknown as string }), 'baseUrl: is not a URL'],
    ['null options', () => null as unknown as ClientOptions, 'options: must be an object'],
    ['string options', () => 'pst_test' as unknown as ClientOptions, 'options: must be an object'],
  ])('%s is an error, although the environment has both', (_, options, reason) => {
    vi.stubEnv('PLANT_STORE_URL', 'http://localhost:1')
    vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
    expect(rejectionOf(options())).toContain(reason)
  })

  test.each<[string, () => CallOptions, string]>([
    ['a token', () => ({ token: missing }), explain('token')],
    ['a token in a spread', () => ({ ...{ retries: 0, token: missing } }), explain('token')],
    ['an inherited token', () => new Forwarded(), explain('token')],
    ['a null token', () => ({ token: null as unknown as string }), 'token: must be a string'],
    ['an empty token', () => ({ token: '' }), 'token: is empty'],
    ['a function that returns undefined', () => ({ token: async () => missing }), 'token: must be a string'],
    ['false options', () => false as unknown as CallOptions, 'options: must be an object'],
  ])('%s is an error of every kind of call and of withOptions, and nothing is sent', async (_, options, reason) => {
    await using server = await listNothing()
    vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_client' })
    const errors = [
      await failureOf(client.getPlants({}, options()), RequestError),
      await failureOf(client.createPlant({ id: 1, name: 'Ficus' }, options()), RequestError),
      await failureOf(client.raw.getPlants({}, options()), RequestError),
      await failureOf(client.iterate.getPlants({}, options()).next(), RequestError),
      (await client.safe.getPlants({}, options())).error,
      await failureOf((async () => client.withOptions(options()).getPlants())(), RequestError),
    ]
    for (const error of errors)
      expect(error).toMatchObject({ kind: 'request', message: expect.stringContaining(reason) })
    expect(server.requests).toEqual([])
  })

  test('is an error of a client of the fake', () => {
    vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
    expect(rejectionOf({ ...createFakePlantStore(), token: missing })).toBe(explain('token'))
  })
})

test('inherited options count', async () => {
  await using server = await listNothing()
  vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
  class Configuration {
    get baseUrl() {
      return server.url
    }
    get token() {
      return 'pst_inherited'
    }
  }
  await createPlantStoreClient(new Configuration()).getPlants()
  expect(server.requests[0]?.headers.authorization).toBe('Bearer pst_inherited')
})

describe('the environment', () => {
  test('provides the URL and the token that the options lack', async () => {
    await using server = await listNothing()
    vi.stubEnv('PLANT_STORE_URL', server.url)
    vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
    await createPlantStoreClient().getPlants()
    await createPlantStoreClient({ token: 'pst_option' }).getPlants()
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer pst_environment',
      'Bearer pst_option',
    ])
  })

  test('variables that are empty count as unset', () => {
    vi.stubEnv('PLANT_STORE_URL', '')
    expect(rejectionOf({})).toBe('baseUrl: is missing; set the `baseUrl` option or PLANT_STORE_URL')
  })

  test.each([
    ['is missing', undefined],
    ['is not readable', Object.defineProperty({}, 'env', { get: () => expect.fail('read access is denied') })],
  ])('that %s does not throw', (_, process) => {
    vi.stubGlobal('process', process)
    try {
      expect(() => createPlantStoreClient({ baseUrl: 'http://localhost', token: 'pst_test' })).not.toThrow()
      expect(rejectionOf({})).toContain('baseUrl: is missing')
    } finally {
      vi.unstubAllGlobals()
    }
  })
})

describe('headers', () => {
  test('of the call override those of the client, and both the SDK’s own, except authorization', async () => {
    await using server = await listNothing()
    const headers = { 'X-Client': 'client', 'X-Both': 'client', Authorization: 'Basic abc' }
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test', headers })
    await client.getPlants({}, { headers: { 'x-both': 'call', Accept: 'application/vnd.plants+json' } })
    expect(server.requests[0]?.headers).toMatchObject({
      'x-client': 'client',
      'x-both': 'call',
      accept: 'application/vnd.plants+json',
      authorization: 'Bearer pst_test',
    })
  })

  test('that are invalid fail the call, and the value is not shown', async () => {
    const client = createPlantStoreClient({ baseUrl: 'http://localhost:1', token: 'pst_test' })
    const error = await failureOf(client.getPlants({}, { headers: { 'x-key': 'secret\nkey' } }), RequestError)
    expect(error.message).toContain('headers: contains an invalid name or value')
    expect(JSON.stringify([error, error.stack, String(error.cause)])).not.toContain('secret')
  })

  test('declare a body as JSON', async () => {
    await using server = await startTinyServer((response) => sendJson(response, 200, { name: 'Ficus' }))
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
    await client.createPlant({ id: 1, name: 'Ficus' })
    expect(server.requests[0]?.headers).toMatchObject({
      accept: 'application/json',
      'content-type': 'application/json',
    })
  })
})

test.each([
  [{ timeout: 0 }, 'timeout: must be between 1 and 2147483647 milliseconds, or Infinity'],
  [{ timeout: -1 }, 'timeout: must be'],
  [{ timeout: Number.NaN }, 'timeout: must be'],
  [{ timeout: 2 ** 31 }, 'timeout: must be'],
  [{ timeout: '5' as unknown as number }, 'timeout: must be'],
  [{ retries: -1 }, 'retries: must be a non-negative integer'],
  [{ retries: 1.5 }, 'retries: must be'],
  [{ retries: Number.POSITIVE_INFINITY }, 'retries: must be'],
])('%o is rejected, for the client and for a call', async (options, reason) => {
  const valid = { baseUrl: 'http://localhost:1', token: 'pst_test' }
  expect(rejectionOf({ ...valid, ...options })).toContain(reason)
  const error = await failureOf(createPlantStoreClient(valid).getPlants({}, options), RequestError)
  expect(error.message).toContain(reason)
})

test('fetch can be replaced, for the client and for a call', async () => {
  await using server = await listNothing()
  const seen: string[] = []
  const counting = (name: string) => (url: string, init: RequestInit) => {
    seen.push(name)
    return fetch(url, init)
  }
  const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test', fetch: counting('client') })
  await client.getPlants()
  await client.getPlants({}, { fetch: counting('call') })
  expect(seen).toEqual(['client', 'call'])
})

test('withOptions creates a client with other options and does not change the first', async () => {
  await using server = await listNothing()
  const first = createPlantStoreClient({ baseUrl: server.url, token: 'pst_first', headers: { 'x-a': '1' } })
  const second = first.withOptions({ token: 'pst_second', headers: { 'x-b': '2' } })
  await first.getPlants()
  await second.getPlants()
  expect(server.requests.map(({ headers }) => [headers.authorization, headers['x-a'], headers['x-b']])).toEqual([
    ['Bearer pst_first', '1', undefined],
    ['Bearer pst_second', '1', '2'],
  ])
})
