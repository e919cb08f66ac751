/** The options of a client and of a call: effects, precedence and validation. */
import { readFile } from 'node:fs/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  ApiError,
  type Attempt,
  type CallOptions,
  type ClientOptions,
  createPlantStoreClient,
  RequestError,
} from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { sendJson, startTinyServer } from '../helpers/tiny-server.ts'

const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
const listNothing = () => startTinyServer((response) => sendJson(response, 200, []))

afterEach(() => vi.unstubAllEnvs())

const BASE_URL =
  'baseUrl: set the option or PLANT_STORE_URL to an HTTP URL or, in a browser, a path without credentials, query and ' +
  'fragment'
const TOKEN = 'token: set the option or PLANT_STORE_TOKEN to visible ASCII text'

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
    'plants.example.com',
    '/plants',
    'ftp://example.com',
    'javascript:alert(1)',
    'https://me:secret@example.com',
    'https://secret@example.com',
    'https://example.com/?a=secret',
    'https://example.com/?',
    'https://example.com/#a',
  ])('%j is rejected', (baseUrl) => {
    const message = rejectionOf({ baseUrl, token: 'pst_test' })
    expect(message).toBe(BASE_URL)
    expect(message).not.toContain('secret')
  })

  test.each(['https://example.com/@scope', 'HTTPS://EXAMPLE.COM', 'http://[::1]:8080/a@b'])(
    '%j is valid',
    (baseUrl) => {
      expect(rejectionOf({ baseUrl, token: 'pst_test' })).toBe('not rejected')
    },
  )
})

describe('token', () => {
  test.each(['', ' ', 'two words', 'line\nbreak', 'tök', 'a\0b'])('%j is rejected, and not shown', (token) => {
    const message = rejectionOf({ baseUrl: 'http://localhost', token })
    expect(message).toBe(TOKEN)
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
    ['returns undefined', () => undefined as unknown as string, TOKEN],
    ['returns an empty string', () => '', TOKEN],
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
    expect(error.message).toContain(TOKEN)
  })
})

describe('the token `false`', () => {
  test('sends no authorization header, for the client and for a call', async () => {
    await using server = await listNothing()
    vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
    await createPlantStoreClient({ baseUrl: server.url, token: false }).getPlants()
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_client' })
    await client.getPlants({}, { token: false })
    await client.withOptions({ token: false }).getPlants({}, { hooks: { request: () => {} } })
    await client.withOptions({ token: false }).getPlants({}, { token: 'pst_call' })
    const sent = server.requests.map(({ headers }) => headers.authorization)
    expect(sent).toEqual([undefined, undefined, undefined, 'Bearer pst_call'])
  })

  test('sends the authorization header of the app, such as a proxy’s', async () => {
    await using server = await listNothing()
    const headers = { Authorization: 'Basic YTpi' }
    await createPlantStoreClient({ baseUrl: server.url, token: false, headers }).getPlants()
    expect(server.requests[0]?.headers.authorization).toBe('Basic YTpi')
  })

  test('leaves the authorization header to a hook', async () => {
    await using server = await listNothing()
    const request = ({ headers }: Attempt) => {
      headers['Authorization'] = 'Basic YTpi'
    }
    await createPlantStoreClient({ baseUrl: server.url, token: false, hooks: { request } }).getPlants()
    expect(server.requests[0]?.headers.authorization).toBe('Basic YTpi')
  })

  test('does not retry a 401', async () => {
    const client = createPlantStoreClient({ ...createFakePlantStore(), token: false })
    const error = await failureOf(client.getPlants(), ApiError)
    expect(error).toMatchObject({ status: 401, attempts: 1, retryable: false })
  })

  test('is not a result of a token function', async () => {
    const token = (() => false) as unknown as () => string
    const error = await failureOf(
      createPlantStoreClient({ ...createFakePlantStore(), token }).getPlants(),
      RequestError,
    )
    expect(error.message).toContain(TOKEN)
  })
})

describe('a token or URL that is undefined', () => {
  const missing = undefined as unknown as string
  const explain = (name: string) => `${name}: is undefined; omit the option to use the default`
  class Forwarded {
    get token() {
      return missing
    }
  }

  test.each<[string, () => ClientOptions, string]>([
    ['a token', () => ({ token: missing }), explain('token')],
    ['a token in a spread', () => ({ ...{ retries: 0, token: missing } }), explain('token')],
    ['an inherited token', () => new Forwarded(), explain('token')],
    ['a null token', () => ({ token: null as unknown as string }), TOKEN],
    ['a URL', () => ({ baseUrl: missing, token: 'pst_test' }), explain('baseUrl')],
    ['a null URL', () => ({ baseUrl: null as unknown as string }), BASE_URL],
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
    ['a null token', () => ({ token: null as unknown as string }), TOKEN],
    ['an empty token', () => ({ token: '' }), TOKEN],
    ['a function that returns undefined', () => ({ token: async () => missing }), TOKEN],
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
    expect(rejectionOf({})).toBe(BASE_URL)
  })

  test.each([
    ['is missing', undefined],
    ['is not readable', Object.defineProperty({}, 'env', { get: () => expect.fail('read access is denied') })],
  ])('that %s does not throw', (_, process) => {
    vi.stubGlobal('process', process)
    try {
      expect(() => createPlantStoreClient({ baseUrl: 'http://localhost', token: 'pst_test' })).not.toThrow()
      expect(rejectionOf({})).toContain(BASE_URL)
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
  [{ timeout: 0 }, 'timeout: must be a positive number'],
  [{ timeout: -1 }, 'timeout: must be'],
  [{ timeout: Number.NaN }, 'timeout: must be'],
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

describe('the user agent', () => {
  test('has the name and version of the package and the runtime', async () => {
    await using server = await listNothing()
    await createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' }).getPlants()
    const { navigator } = globalThis as { navigator?: { userAgent: string } }
    const runtime = navigator?.userAgent ?? 'Node.js'
    expect(server.requests[0]?.headers['user-agent']).toBe(`plant-store-client/${manifest.version} (${runtime})`)
  })

  test('of the app takes precedence', async () => {
    await using server = await listNothing()
    const client = createPlantStoreClient({
      baseUrl: server.url,
      token: 'pst_test',
      headers: { 'User-Agent': 'app/2' },
    })
    await client.getPlants()
    expect(server.requests[0]?.headers['user-agent']).toBe('app/2')
  })

  test.each([
    ['Node.js/24', `plant-store-client/${manifest.version} (Node.js/24)`],
    ['Cloudflare-Workers', `plant-store-client/${manifest.version} (Cloudflare-Workers)`],
    ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36', undefined],
  ])('of the runtime %j is %j', async (userAgent, sent) => {
    vi.stubGlobal('navigator', { userAgent })
    const store = createFakePlantStore()
    await createPlantStoreClient(store).getPlants()
    expect(store.requests[0]?.headers['user-agent']).toBe(sent)
    vi.unstubAllGlobals()
  })
})

describe('a path as the base URL', () => {
  test.each([
    ['/', 'http://localhost:8080/plants'],
    ['/api', 'http://localhost:8080/api/plants'],
    ['/api/v1/', 'http://localhost:8080/api/v1/plants'],
  ])('%s is of the origin of the page', async (baseUrl, url) => {
    vi.stubGlobal('location', new URL('http://localhost:8080/shop/page?a=1#b'))
    const requested: string[] = []
    const { fetch, token } = createFakePlantStore()
    const counting: typeof fetch = async (target, init) => {
      requested.push(target)
      return await fetch(target, init)
    }
    await createPlantStoreClient({ baseUrl, token, fetch: counting }).safe.getPlants()
    expect(requested).toEqual([url])
    vi.unstubAllGlobals()
  })

  test.each([
    'plants.example.com',
    'api',
    './api',
    '../api',
    '?a',
    '/api?a',
    '/api#a',
    '//evil.com/api',
    '/\\evil.com',
    '/\t/evil.com',
  ])('%j is rejected', (baseUrl) => {
    vi.stubGlobal('location', new URL('http://localhost:8080/shop/page'))
    expect(rejectionOf({ baseUrl, token: 'pst_test' })).toBe(BASE_URL)
    vi.unstubAllGlobals()
  })
})

test('a path never leaves the origin of the page', async () => {
  vi.stubGlobal('location', new URL('https://page.example/shop'))
  const parts = ['/', '\\', '\t', '\n', '\0', ' ', '@', ':', '.', '%2f', 'a', '／']
  const paths = parts.flatMap((a) => parts.flatMap((b) => parts.map((c) => `/${a}${b}${c}evil.com/api`)))
  const origins: string[] = []
  const fetch = async (url: string) => {
    origins.push(new URL(url).origin)
    return Response.json([])
  }
  for (const baseUrl of paths) {
    const options = { baseUrl, token: 'pst_test', fetch }
    const message = rejectionOf(options)
    if (message === 'not rejected') await createPlantStoreClient(options).getPlants()
    else expect(message).toBe(BASE_URL)
  }
  expect(origins.length).toBeGreaterThan(100)
  expect(new Set(origins)).toEqual(new Set(['https://page.example']))
  vi.unstubAllGlobals()
})

test('a timeout of more than 24 days sets no limit', async () => {
  const client = createPlantStoreClient({ ...createFakePlantStore(), timeout: 2 ** 31 })
  expect(await client.getPlants()).toEqual([])
})
