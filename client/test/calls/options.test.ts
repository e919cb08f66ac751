/** The options of a client and of a call, and other arguments: effects, precedence, and that nothing is ignored. */
import { readFile } from 'node:fs/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  type Attempt,
  type CallOptions,
  type ClientOptions,
  createPlantStoreClient,
  type Fetch,
  type FetchInit,
  type Hooks,
  UsageError,
} from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))

afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
})

/** A service that responds with an empty list and records what it gets. */
function recorder(baseUrl = 'http://localhost') {
  const sent: { url: string; headers: Record<string, string> }[] = []
  const fetch: Fetch = async (url: string, init: FetchInit) => {
    sent.push({ url, headers: init.headers as Record<string, string> })
    return Response.json([])
  }
  const options = { baseUrl, token: 'pst_test', fetch }
  return { options, sent, tokens: () => sent.map(({ headers }) => headers['authorization']) }
}

function rejectionOf(options: unknown): string {
  try {
    createPlantStoreClient(options as ClientOptions)
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError)
    return (error as UsageError).message
  }
  return 'not rejected'
}

/** Returns the details of the errors of every kind of call with these options. */
async function detailsOf(options: unknown): Promise<Set<string>> {
  const { options: valid, sent } = recorder()
  const client = createPlantStoreClient(valid)
  const invalid = options as CallOptions
  const errors = [
    await failureOf(client.getPlants({}, invalid), UsageError),
    await failureOf(client.createPlant({ id: 1, name: 'Ficus' }, invalid), UsageError),
    await failureOf(client.raw.getPlants({}, invalid), UsageError),
    await failureOf(client.iterate.getPlants({}, invalid).next(), UsageError),
    (await client.safe.getPlants({}, invalid)).error,
    await failureOf((async () => client.withOptions(invalid).getPlants())(), UsageError),
  ]
  expect(sent).toEqual([])
  return new Set(errors.map((error) => String(error?.detail)))
}

const OPTIONS = 'token, timeout, retries, signal, headers, fetch, hooks, logger, logLevel'
const unknown = (name: string) => `${name}: is not one of ${OPTIONS}`

class WithField {
  readonly retries = 1
  readonly tiemout = 5
}
class WithGetter {
  get retries() {
    return 1
  }
  get tiemout() {
    return 5
  }
}

const notOf = (kind: string) => `options: must be an object of ${OPTIONS}, not ${kind}`
const missing = undefined as unknown as string
const token = (reason: string) => `token: ${reason}`
const LEAVE_OUT = '; set it, or leave the option out and set PLANT_STORE_TOKEN'
const TEXT = 'text with whitespace, or not ASCII'
const INVALID = 'is invalid, or there is no Headers'

describe('an option', () => {
  const names = ['maxRetries', 'apiKey', 'cache', 'limit', 'baseURL', 'loglevel']
  const inherited = Object.create({ retries: 1, tiemout: 5 })
  const bare = Object.assign(Object.create(null), { tiemout: 5 })
  const withoutInfo = { logger: { warn() {}, debug() {} }, logLevel: 'info' }
  const invalid: Record<string, unknown[]> = {
    ...Object.fromEntries(names.map((name) => [unknown(name), [{ [name]: 1 }]])),
    [`${unknown('idempotencyKey')}; what is safe to repeat is retried`]: [{ idempotencyKey: 1 }],
    [unknown('tiemout')]: [new WithField(), new WithGetter(), new (class extends WithGetter {})(), inherited, bare],
    'options: must be an object': [false, 'pst_test', [], () => ({})],
    [notOf('AbortSignal')]: [new AbortController().signal],
    [notOf('Headers')]: [new Headers({ a: 'b' })],
    [notOf('Map')]: [new Map([['timeout', 5]])],
    [unknown('method')]: [new Request('http://localhost')],
    'timeout: must be a positive number': [0, -1, Number.NaN, '5', null].map((timeout) => ({ timeout })),
    'retries: must be a non-negative integer': [-1, 1.5, Number.POSITIVE_INFINITY].map((retries) => ({ retries })),
    'signal: must be an AbortSignal': [new AbortController(), null].map((signal) => ({ signal })),
    'logger.warn: must be a function': [null, { info() {} }].map((logger) => ({ logger })),
    'logger.info: must be a function': [withoutInfo],
    'logLevel: must be one of off, warn, info, debug': ['verbose', null].map((logLevel) => ({ logLevel })),
    'hooks: must be an object': [null, [null], () => {}].map((hooks) => ({ hooks })),
    'hooks.request: must be a function': [{ hooks: { request: 'x' } }],
    'hooks.onRequest: is not one of request, response, error': [{ hooks: [{ onRequest() {} }] }],
    [token(`is undefined${LEAVE_OUT}`)]: [{ retries: 0, token: missing }, { get token() { return missing } }], // biome-ignore format: one line
    [token(`is null${LEAVE_OUT}`)]: [{ token: null }],
    [token(`is number${LEAVE_OUT}`)]: [{ token: 5 }],
    [token(`is boolean${LEAVE_OUT}`)]: [{ token: true }],
    [token(`is empty text${LEAVE_OUT}`)]: [{ token: '' }],
    [token(`is ${TEXT}${LEAVE_OUT}`)]: [' ', 'Bearer pst_secret', 'pst_secret\n', 'töken', 'a\0b'].map((text) => ({
      token: text,
    })),
    'headers: must be an object': [null, 'x-key: secret'].map((headers) => ({ headers })),
    'headers.x-key: must be a string': [{ secret: 1 }, ['secret']].map((value) => ({ headers: { 'x-key': value } })),
    'headers.X-Key: must be a string': [{ headers: { 'X-Key': 5 } }],
    // What follows a valid name may be a secret.
    [`headers.x: ${INVALID}`]: [['x-key: secret'], { 'x key: secret': 'a' }].map((headers) => ({ headers })),
    [`headers.x-key: ${INVALID}`]: [
      { headers: [['x-key', 'secret', 'x']] },
      ...['a\nsecret', 'a\0secret', 'secret 🌱'].map((value) => ({ headers: { 'x-key': value } })),
    ],
  }
  test.each(Object.entries(invalid).flatMap(([detail, list]) => list.map((options) => [detail, options] as const)))(
    '%s: of a client and of a call is an error, and no value is shown (%o)',
    async (detail, options) => {
      vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
      expect(await detailsOf(options)).toEqual(new Set([detail]))
      // Before the error that `baseUrl` is missing.
      expect(rejectionOf(options)).toBe(detail.replace(OPTIONS, `baseUrl, ${OPTIONS}`))
      expect(detail).not.toContain('secret')
    },
  )

  test('that does not exist is accepted if it is undefined or a method', async () => {
    const { options, sent } = recorder()
    class Configuration {
      readonly region = undefined
      readonly baseUrl = options.baseUrl
      readonly fetch = options.fetch
      get token() {
        return 'pst_inherited'
      }
      describe() {}
    }
    vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
    await createPlantStoreClient(new Configuration()).getPlants()
    expect(sent[0]?.headers).toMatchObject({ authorization: 'Bearer pst_inherited' })
    const valid = { ...createFakePlantStore(), retries: 0, constructor: undefined }
    expect(await createPlantStoreClient(valid).getPlants()).toEqual([])
  })

  test('may be undefined, but for token and baseUrl', async () => {
    const names = OPTIONS.replace('token, ', '').split(', ')
    const unset = Object.fromEntries(names.map((name) => [name, undefined]))
    const client = createPlantStoreClient({ ...unset, ...createFakePlantStore() })
    expect(await client.getPlants({}, unset)).toEqual([])
  })
})

describe('other arguments of a call', () => {
  const hint = 'options are the argument after the query'
  const notQuery = (kind: string) => `query: must be an object of limit, cursor, not ${kind}`
  test.each<[query: unknown, detail: string]>([
    [{ signal: new AbortController().signal }, `signal: is not one of limit, cursor; ${hint}`],
    [{ page: 1 }, `page: is not one of limit, cursor; ${hint}`],
    [new URLSearchParams('limit=5'), notQuery('URLSearchParams')],
    [new AbortController().signal, notQuery('AbortSignal')],
    [new FormData(), notQuery('FormData')],
    ['limit=5', 'query: must be an object'],
    ...[1.5, Number.NaN, '5', 2 ** 60].map((limit): [unknown, string] => [{ limit }, 'limit: must be an integer']),
    [{ cursor: '\0' }, 'cursor: must not contain U+0000 or a lone surrogate'],
  ])('the query %o is an error', async (query, detail) => {
    const { options, sent } = recorder()
    const { getPlants, raw, iterate } = createPlantStoreClient(options)
    for (const call of [getPlants, raw.getPlants, (given: never) => iterate.getPlants(given).next()]) {
      expect((await failureOf(call(query as never), UsageError)).detail).toBe(detail)
    }
    expect(sent).toEqual([])
  })

  test('one too many is an error, and an unknown field that is undefined is not', async () => {
    const { options, sent } = recorder()
    const { getPlants, createPlant } = createPlantStoreClient(options)
    const calls = [[getPlants, {}, {}, {}], [createPlant, { id: 1, name: '' }, {}, {}]] as const // biome-ignore format: one line
    for (const [call, ...given] of calls) {
      const { detail } = await failureOf((call as (...all: unknown[]) => Promise<unknown>)(...given), UsageError)
      expect(detail).toBe('options: must be the last argument')
    }
    expect(sent).toEqual([])
    await getPlants({ limit: 1, page: undefined } as object, { timeout: undefined, tiemout: undefined } as object)
  })
})

const BASE_URL = 'baseUrl: '

describe('baseUrl', () => {
  test.each(['', '/', '//', '/shop', '/shop/', '/a/b%20c', '/@scope'])('may have the path "%s"', async (path) => {
    const { options, sent } = recorder(`HTTP://LOCALHOST:8080${path}`)
    await createPlantStoreClient(options).getPlants({ limit: 5 })
    expect(sent.map(({ url }) => url)).toEqual([`http://localhost:8080${path.replace(/\/+$/, '')}/plants?limit=5`])
  })

  const invalid: Record<string, unknown[]> = {
    'is missing; set it, or leave the option out and set PLANT_STORE_URL': ['', undefined, null],
    'must have a scheme such as https:': [
      ...['plants.example.com', 'localhost:3000', 'example.com:3000/api', '//example.com'],
      ...['api', './api', '?a', '/plants'],
    ],
    'must be an HTTP URL': ['http://[', 'https://', 'ftp://example.com', 'javascript:alert(1)'],
    'must not have credentials; use token': ['https://me:secret@example.com', 'https://secret@example.com'],
    'must not have a query or fragment': ['?a=secret', '?', '#secret'].map((end) => `https://example.com/${end}`),
  }
  test.each(Object.entries(invalid))('%s: is an error, although the environment has one', (reason, urls) => {
    vi.stubEnv('PLANT_STORE_URL', 'http://localhost:1')
    for (const baseUrl of urls) expect(rejectionOf({ baseUrl, token: 'pst_test' })).toBe(BASE_URL + reason)
  })

  test('may be a path of the origin of the page, which it never leaves', async () => {
    vi.stubGlobal('location', new URL('https://page.example/shop/page?a=1#b'))
    for (const [baseUrl, path] of Object.entries({ '/': '', '/api': '/api', '/api/v1/': '/api/v1' })) {
      const { options, sent } = recorder(baseUrl)
      await createPlantStoreClient(options).getPlants()
      expect(sent[0]?.url).toBe(`https://page.example${path}/plants`)
    }
    const parts = ['/', '\\', '\t', '\n', '\0', ' ', '@', ':', '.', '%2f', '?', '#', 'a', '／']
    const paths = parts.flatMap((a) => parts.flatMap((b) => parts.map((c) => `/${a}${b}${c}evil.com/api`)))
    const origins: string[] = []
    for (const baseUrl of [...paths, 'api', '../api']) {
      const { options, sent } = recorder(baseUrl)
      const message = rejectionOf(options)
      if (message !== 'not rejected') expect(message).toContain(BASE_URL)
      else await createPlantStoreClient(options).getPlants()
      origins.push(...sent.map(({ url }) => new URL(url).origin))
    }
    expect(origins.length).toBeGreaterThan(100)
    expect(new Set(origins)).toEqual(new Set(['https://page.example']))
  })
})

const CONFLICT = 'token: must be false if headers have Authorization'

describe('who sends a call', () => {
  const other = 'Bearer pst_other'
  const names = ['Authorization', 'authorization', 'AUTHORIZATION']

  test.each<[string, NonNullable<CallOptions['headers']>]>([
    ...names.map((name): [string, Record<string, string>] => [name, { [name]: other }]),
    ['Headers', new Headers({ authorization: other })],
    ['pairs', [['Authorization', other]]],
    ['a Map', new Map([['Authorization', other]])],
  ])('is never ambiguous: a header Authorization as %s beside a token is an error', async (_, headers) => {
    for (const own of [{}, { token: 'pst_call' }, { token: () => 'pst_call' }]) {
      expect(await detailsOf({ headers, ...own })).toEqual(new Set([CONFLICT]))
      for (const variable of ['', 'pst_environment']) {
        vi.stubEnv('PLANT_STORE_TOKEN', variable)
        expect(rejectionOf({ headers, ...own })).toBe(CONFLICT)
      }
    }
    const { options, tokens } = recorder()
    const anonymous = createPlantStoreClient({ ...options, headers, token: false })
    expect((await failureOf(anonymous.getPlants({}, { token: 'pst_call' }), UsageError)).detail).toBe(CONFLICT)
    await anonymous.getPlants()
    await anonymous.getPlants({}, { token: 'pst_call', headers: { authorization: null } })
    await createPlantStoreClient(options).getPlants({}, { headers, token: false })
    expect(tokens()).toEqual([other, 'Bearer pst_call', other])
  })

  test.each(names)('a hook that adds %s beside a token is an error, and without a token is used', async (name) => {
    const { options, sent, tokens } = recorder()
    const request = ({ headers }: Attempt) => {
      headers[name] = other
    }
    const client = createPlantStoreClient({ ...options, hooks: { request } })
    const basic = { token: false, headers: { Authorization: 'Basic YTpi' } } as const
    for (const own of [{}, basic]) {
      expect((await failureOf(client.getPlants({}, own), UsageError)).detail).toBe(CONFLICT)
    }
    expect(sent).toEqual([])
    await client.getPlants({}, { token: false })
    expect(tokens()).toEqual([other])
  })

  test('is the token of the call, of the client, or of the environment; false sends none', async () => {
    vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
    const { options, tokens } = recorder()
    const { token: _, ...withoutToken } = options
    const client = createPlantStoreClient(options)
    await createPlantStoreClient(withoutToken).getPlants()
    await client.getPlants()
    await client.getPlants({}, { token: () => 'pst_call' })
    await client.getPlants({}, { token: false })
    await client.withOptions({ token: false }).getPlants({}, { hooks: { request: () => {} } })
    await client.withOptions({ token: false }).getPlants({}, { token: 'pst_call' })
    const [environment, test, call] = ['environment', 'test', 'call'].map((name) => `Bearer pst_${name}`)
    expect(tokens()).toEqual([environment, test, call, undefined, undefined, call])
  })

  test('may be a function, which runs once per call', async () => {
    const { options, tokens } = recorder()
    const token = vi.fn(async () => `pst_${token.mock.calls.length}`)
    const client = createPlantStoreClient({ ...options, token })
    expect(token).not.toHaveBeenCalled()
    await client.getPlants()
    await client.getPlants()
    expect(tokens()).toEqual(['Bearer pst_1', 'Bearer pst_2'])
    expect(token).toHaveBeenCalledWith({ rejected: false })
  })

  test.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    [false, 'false'],
    ['', 'empty text'],
    ['two words', TEXT],
  ])('is an error if the function returns %j', async (returned, kind) => {
    const { options, sent } = recorder()
    const client = createPlantStoreClient({ ...options, token: () => returned as string })
    const detail = token(`the function returned ${kind}`)
    expect(await failureOf(client.getPlants(), UsageError)).toMatchObject({ detail, attempts: 0 })
    expect(sent).toEqual([])
  })

  test('that is missing fails the call, and the error says where to set it', async () => {
    vi.stubEnv('PLANT_STORE_TOKEN', '')
    const error = await failureOf(createPlantStoreClient({ baseUrl: 'http://localhost:1' }).getPlants(), UsageError)
    expect(error.detail).toBe(token(`is undefined${LEAVE_OUT}`))
  })
})

describe('the environment', () => {
  test('provides the URL, and variables that are empty count as unset', async () => {
    const { options, sent } = recorder()
    vi.stubEnv('PLANT_STORE_URL', 'http://localhost:8080')
    await createPlantStoreClient({ token: options.token, fetch: options.fetch }).getPlants()
    expect(sent[0]?.url).toBe('http://localhost:8080/plants')
    vi.stubEnv('PLANT_STORE_URL', '')
    expect(rejectionOf({})).toContain(`${BASE_URL}is missing`)
  })

  test.each([
    ['is missing', undefined],
    ['is not readable', Object.defineProperty({}, 'env', { get: () => expect.fail('read access is denied') })],
  ])('that %s does not throw', (_, process) => {
    vi.stubGlobal('process', process)
    expect(rejectionOf({ baseUrl: 'http://localhost', token: 'pst_test' })).toBe('not rejected')
    expect(rejectionOf({})).toContain(`${BASE_URL}is missing`)
    vi.unstubAllGlobals()
  })
})

describe('headers', () => {
  const client = { 'X-Client': 'client', 'X-Both': 'client', 'X-Removed': 'client' }
  const call = {
    'x-both': ' call\r\n',
    Accept: 'text/plain',
    'x-unset': undefined,
    'x-removed': null,
    'User-Agent': null,
  }

  test.each<[string, CallOptions['headers']]>([
    ['an object', call],
    ['pairs', Object.entries(call)],
    ['a Map', new Map(Object.entries(call)) as never],
  ])('as %s: of the call override the client’s, and both the SDK’s; null removes one', async (_, headers) => {
    const { options, sent } = recorder()
    await createPlantStoreClient({ ...options, headers: client }).getPlants({}, { headers })
    const authorization = 'Bearer pst_test'
    expect(sent[0]?.headers).toEqual({ 'x-client': 'client', 'x-both': 'call', accept: 'text/plain', authorization })
  })

  test('as Headers, and a name that is repeated in pairs is a list', async () => {
    const { options, sent } = recorder()
    const pairs = [['x-a', '1'], ['X-A', '2']] as const // biome-ignore format: one line
    await createPlantStoreClient({ ...options, headers: new Headers({ 'X-B': 'b' }) }).getPlants({}, { headers: pairs })
    expect(sent[0]?.headers).toMatchObject({ 'x-a': '1, 2', 'x-b': 'b' })
  })

  test.each([
    ['Node.js/24', `plant-store-client/${manifest.version} (Node.js/24)`],
    ['Cloudflare-Workers', `plant-store-client/${manifest.version} (Cloudflare-Workers)`],
    ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36', undefined],
  ])('have the user agent of the runtime %j: %j, or that of the app', async (userAgent, own) => {
    vi.stubGlobal('navigator', { userAgent })
    const { options, sent } = recorder()
    await createPlantStoreClient(options).getPlants()
    await createPlantStoreClient(options).getPlants({}, { headers: { 'User-Agent': 'app/2' } })
    expect(sent.map(({ headers }) => headers['user-agent'])).toEqual([own, 'app/2'])
  })
})

test('fetch of a call overrides that of the client, and what is not a function fails the call', async () => {
  const [client, call] = [recorder(), recorder()]
  const { getPlants } = createPlantStoreClient(client.options)
  await getPlants()
  await getPlants({}, { fetch: call.options.fetch })
  expect([client.sent.length, call.sent.length]).toEqual([1, 1])
  for (const fetch of [null, {}, 'fetch']) {
    const { detail } = await failureOf(getPlants({}, { fetch: fetch as never }), UsageError)
    expect(detail).toMatch(/^fetch: the function failed: .*is not a function/)
  }
})

test('withOptions creates a client with other options and does not change the first', async () => {
  const { options, sent } = recorder()
  const first = createPlantStoreClient({ ...options, headers: { 'x-a': '1' } })
  const second = first.withOptions({ token: 'pst_second', headers: { 'x-b': '2' } })
  await first.getPlants()
  await second.getPlants()
  expect(sent.map(({ headers }) => [headers['authorization'], headers['x-a'], headers['x-b']])).toEqual([
    ['Bearer pst_test', '1', undefined],
    ['Bearer pst_second', '1', '2'],
  ])
})

test('hooks of a class may have other fields', async () => {
  class Metrics implements Hooks {
    readonly statuses: number[] = []
    response(_: Attempt, { status }: { status: number }) {
      this.statuses.push(status)
    }
  }
  const metrics = new Metrics()
  await createPlantStoreClient({ ...createFakePlantStore(), hooks: metrics }).getPlants()
  expect(metrics.statuses).toEqual([200])
})
