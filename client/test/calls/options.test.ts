/** The options of a client and of a call, and other arguments: effects, precedence, and that nothing is ignored. */
import { readFile } from 'node:fs/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  ApiError,
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

describe('an option that does not exist', () => {
  test.each<readonly [string, string]>([
    ...['maxRetries', 'apiKey', 'cache', 'limit', 'baseURL', 'loglevel'].map((name) => [name, ''] as const),
    ['idempotencyKey', '; every call is already safe to repeat'],
  ])('%s is an error that lists the options%s', async (name, hint) => {
    expect(await detailsOf({ [name]: 1 })).toEqual(new Set([unknown(name) + hint]))
    // Before the error that an option is missing.
    expect(rejectionOf({ [name]: 1 })).toBe(unknown(name).replace('token', 'baseUrl, token') + hint)
  })

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
  test.each<[string, unknown, string]>([
    ['a field of a class', new WithField(), unknown('tiemout')],
    ['a getter of a class', new WithGetter(), unknown('tiemout')],
    ['a getter of its base class', new (class extends WithGetter {})(), unknown('tiemout')],
    ['an inherited field', Object.create({ retries: 1, tiemout: 5 }), unknown('tiemout')],
    ['no prototype', Object.assign(Object.create(null), { tiemout: 5 }), unknown('tiemout')],
    ['false', false, 'options: must be an object'],
    ['text', 'pst_test', 'options: must be an object'],
    ['a list', [], 'options: must be an object'],
    ['a function', () => ({}), 'options: must be an object'],
    ['a signal', new AbortController().signal, `options: must be an object of ${OPTIONS}, not AbortSignal`],
    ['Headers', new Headers({ a: 'b' }), `options: must be an object of ${OPTIONS}, not Headers`],
    ['a Map', new Map([['timeout', 5]]), `options: must be an object of ${OPTIONS}, not Map`],
    ['a Request', new Request('http://localhost'), expect.stringMatching(/is not one of/)],
  ])('%s is an error', async (_, options, detail) => {
    expect(await detailsOf(options)).toEqual(new Set([detail]))
    expect(rejectionOf(options)).toEqual(
      typeof detail === 'string' ? detail.replace(OPTIONS, `baseUrl, ${OPTIONS}`) : detail,
    )
  })

  test('is accepted if it is undefined or a method', async () => {
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
    const store = createFakePlantStore()
    for (const valid of [store, { ...store }, { ...store, retries: 0, constructor: undefined }]) {
      expect(await createPlantStoreClient(valid).getPlants()).toEqual([])
    }
  })

  test('every option may be undefined, but for token and baseUrl', async () => {
    const unset = { timeout: undefined, retries: undefined, signal: undefined, headers: undefined, fetch: undefined }
    const others = { hooks: undefined, logger: undefined, logLevel: undefined }
    const client = createPlantStoreClient({ ...createFakePlantStore(), ...others })
    expect(await client.getPlants({}, { ...unset, ...others, fetch: createFakePlantStore().fetch })).toEqual([])
  })
})

const signal = 'signal: must be an AbortSignal'
const missing = undefined as unknown as string
const token = (reason: string) => `token: ${reason}`
const ALONE = '; set it or PLANT_STORE_TOKEN to the token alone'
const TEXT = `is text with a space or newline, or not ASCII${ALONE}`

const INVALID_HEADERS = 'headers: has an invalid name or value, or there is no Headers'

describe('an invalid option', () => {
  test.each<[unknown, string]>([
    [{ timeout: 0 }, 'timeout: must be a positive number'],
    [{ timeout: -1 }, 'timeout: must be a positive number'],
    [{ timeout: Number.NaN }, 'timeout: must be a positive number'],
    [{ timeout: '5' }, 'timeout: must be a positive number'],
    [{ timeout: null }, 'timeout: must be a positive number'],
    [{ retries: -1 }, 'retries: must be a non-negative integer'],
    [{ retries: 1.5 }, 'retries: must be a non-negative integer'],
    [{ retries: Number.POSITIVE_INFINITY }, 'retries: must be a non-negative integer'],
    [{ signal: new AbortController() }, signal],
    [{ signal: null }, signal],
    [{ logger: null }, 'logger.warn: must be a function'],
    [{ logger: { info() {} } }, 'logger.warn: must be a function'],
    [{ logger: { warn() {}, debug() {} }, logLevel: 'info' }, 'logger.info: must be a function'],
    [{ logLevel: 'verbose' }, 'logLevel: must be one of off, warn, info, debug'],
    [{ logLevel: null }, 'logLevel: must be one of off, warn, info, debug'],
    [{ hooks: null }, 'hooks: must be an object'],
    [{ hooks: [null] }, 'hooks: must be an object'],
    [{ hooks: () => {} }, 'hooks: must be an object'],
    [{ hooks: { request: 'x' } }, 'hooks.request: must be a function'],
    [{ hooks: [{ onRequest() {} }] }, 'hooks.onRequest: is not one of request, response, error'],
    [{ token: missing }, token(`is undefined${ALONE}`)],
    [{ ...{ retries: 0, token: missing } }, token(`is undefined${ALONE}`)],
    [{ get token() { return missing } }, token(`is undefined${ALONE}`)], // biome-ignore format: one line
    [{ token: null }, token(`is null${ALONE}`)],
    [{ token: 5 }, token(`is number${ALONE}`)],
    [{ token: true }, token(`is boolean${ALONE}`)],
    [{ token: '' }, token(`is missing${ALONE}`)],
    [{ token: ' ' }, token(TEXT)],
    [{ token: 'Bearer pst_secret' }, token(TEXT)],
    [{ token: 'pst_secret\n' }, token(TEXT)],
    [{ token: 'töken' }, token(TEXT)],
    [{ token: 'a\0b' }, token(TEXT)],
    [{ headers: null }, 'headers: must be an object'],
    [{ headers: 'x-key: secret' }, 'headers: must be an object'],
    [{ headers: ['x-key: secret'] }, INVALID_HEADERS],
    [{ headers: [['x-key', 'secret', 'x']] }, INVALID_HEADERS],
    [{ headers: { 'x-key': { secret: 1 } } }, 'headers.x-key: must be a string'],
    [{ headers: { 'X-Key': 5 } }, 'headers.X-Key: must be a string'],
    [{ headers: { 'x-key': ['secret'] } }, 'headers.x-key: must be a string'],
    [{ headers: { 'x-key': 'a\nsecret' } }, INVALID_HEADERS],
    [{ headers: { 'x-key': 'a\0secret' } }, INVALID_HEADERS],
    [{ headers: { 'x-key': 'secret 🌱' } }, INVALID_HEADERS],
    [{ headers: { 'x key: secret': 'a' } }, INVALID_HEADERS],
  ])('%o of a client and of a call is an error, and no value is shown', async (options, detail) => {
    vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
    expect(await detailsOf(options)).toEqual(new Set([detail]))
    expect(rejectionOf(Object.assign(options as object, { baseUrl: 'http://localhost' }))).toBe(detail)
    expect(detail).not.toContain('secret')
  })
})

describe('other arguments of a call', () => {
  const hint = 'options are the argument after the query'
  test.each<[string, unknown, string]>([
    ['options', { signal: new AbortController().signal }, `signal: is not one of limit, cursor; ${hint}`],
    ['a wrong name', { page: 1 }, `page: is not one of limit, cursor; ${hint}`],
    [
      'URLSearchParams',
      new URLSearchParams('limit=5'),
      'query: must be an object of limit, cursor, not URLSearchParams',
    ],
    ['a signal', new AbortController().signal, 'query: must be an object of limit, cursor, not AbortSignal'],
    ['FormData', new FormData(), 'query: must be an object of limit, cursor, not FormData'],
    ['text', 'limit=5', 'query: must be an object'],
    ['a field of the wrong type', { limit: '5' }, 'limit: must be an integer'],
    ['a cursor that no text can be', { cursor: '\0' }, 'cursor: must not contain U+0000 or a lone surrogate'],
  ])('a query that is %s is an error', async (_, query, detail) => {
    const { options, sent } = recorder()
    const client = createPlantStoreClient(options)
    for (const call of [
      client.getPlants,
      client.raw.getPlants,
      (given: never) => client.iterate.getPlants(given).next(),
    ]) {
      expect((await failureOf(call(query as never), UsageError)).detail).toBe(detail)
    }
    expect(sent).toEqual([])
  })

  test.each<[string, unknown, string]>([
    ['a misspelled field', { id: 1, name: 'Ficus', tags: 'fig' }, 'tags: is not one of id, name, tag'],
    ['options', { id: 1, name: 'Ficus', timeout: 5 }, 'timeout: is not one of id, name, tag'],
    ['a function', { id: 1, name: 'Ficus', toJSON() {} }, 'toJSON: is not one of id, name, tag'],
    ['a Map', new Map(), 'body: must be an object of id, name, tag, not Map'],
  ])('a body with %s is an error', async (_, body, detail) => {
    const { options, sent } = recorder()
    const client = createPlantStoreClient(options)
    expect((await failureOf(client.createPlant(body as never), UsageError)).detail).toBe(detail)
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

  test.each<[unknown, string]>([
    ['', 'is missing; set it or PLANT_STORE_URL'],
    [undefined, 'is missing; set it or PLANT_STORE_URL'],
    [null, 'is missing; set it or PLANT_STORE_URL'],
    ['plants.example.com', 'must have a scheme such as https:'],
    ['localhost:3000', 'must have a scheme such as https:'],
    ['example.com:3000/api', 'must have a scheme such as https:'],
    ['//example.com', 'must have a scheme such as https:'],
    ['api', 'must have a scheme such as https:'],
    ['./api', 'must have a scheme such as https:'],
    ['?a', 'must have a scheme such as https:'],
    ['/plants', 'must have a scheme such as https:'],
    ['http://[', 'must be an HTTP URL'],
    ['https://', 'must be an HTTP URL'],
    ['ftp://example.com', 'must be an HTTP URL'],
    ['javascript:alert(1)', 'must be an HTTP URL'],
    ['https://me:secret@example.com', 'must not have credentials; use token'],
    ['https://secret@example.com', 'must not have credentials; use token'],
    ['https://example.com/?a=secret', 'must not have a query or fragment'],
    ['https://example.com/?', 'must not have a query or fragment'],
    ['https://example.com/#secret', 'must not have a query or fragment'],
  ])('%j is an error, although the environment has one', (baseUrl, reason) => {
    vi.stubEnv('PLANT_STORE_URL', 'http://localhost:1')
    expect(rejectionOf({ baseUrl, token: 'pst_test' })).toBe(BASE_URL + reason)
  })

  test.each([
    ['/', 'http://localhost:8080/plants'],
    ['/api', 'http://localhost:8080/api/plants'],
    ['/api/v1/', 'http://localhost:8080/api/v1/plants'],
  ])('%s is a path of the origin of the page', async (baseUrl, url) => {
    vi.stubGlobal('location', new URL('http://localhost:8080/shop/page?a=1#b'))
    const { options, sent } = recorder(baseUrl)
    await createPlantStoreClient(options).getPlants()
    expect(sent[0]?.url).toBe(url)
  })

  test('never leaves the origin of the page, if it is a path', async () => {
    vi.stubGlobal('location', new URL('https://page.example/shop'))
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

  test.each<[string, CallOptions['headers']]>([
    ...names.map((name): [string, CallOptions['headers']] => [name, { [name]: other }]),
    ['Headers', new Headers({ authorization: other })],
    ['pairs', [['Authorization', other]]],
    ['a Map', new Map([['Authorization', other]])],
  ])('is never ambiguous: a header Authorization as %s beside a token is an error', async (_, headers) => {
    expect(await detailsOf({ headers })).toEqual(new Set([CONFLICT]))
    expect(await detailsOf({ headers, token: 'pst_call' })).toEqual(new Set([CONFLICT]))
    expect(await detailsOf({ headers, token: () => 'pst_call' })).toEqual(new Set([CONFLICT]))
    expect(rejectionOf({ baseUrl: 'http://localhost', headers, token: 'pst_test' })).toBe(CONFLICT)
    expect(rejectionOf({ baseUrl: 'http://localhost', headers })).toBe(CONFLICT)
    vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
    expect(rejectionOf({ baseUrl: 'http://localhost', headers })).toBe(CONFLICT)
    const { options, tokens } = recorder()
    const anonymous = createPlantStoreClient({ ...options, headers: headers ?? {}, token: false })
    expect((await failureOf(anonymous.getPlants({}, { token: 'pst_call' }), UsageError)).detail).toBe(CONFLICT)
    await anonymous.getPlants()
    await anonymous.getPlants({}, { token: 'pst_call', headers: { authorization: null } })
    await createPlantStoreClient(options).getPlants({}, { headers: headers ?? {}, token: false })
    expect(tokens()).toEqual([other, 'Bearer pst_call', other])
  })

  test.each(names)('a hook that adds %s beside a token is an error, and without a token is used', async (name) => {
    const { options, sent, tokens } = recorder()
    const request = ({ headers }: Attempt) => {
      headers[name] = other
    }
    const client = createPlantStoreClient({ ...options, hooks: { request } })
    const { detail } = await failureOf(client.getPlants(), UsageError)
    expect(detail).toBe('token: must be false if headers have Authorization')
    const basic = { token: false, headers: { Authorization: 'Basic YTpi' } } as const
    expect((await failureOf(client.getPlants({}, basic), UsageError)).detail).toBe(detail)
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

  test('does not get a 401 retried with the token false', async () => {
    const client = createPlantStoreClient({ ...createFakePlantStore(), token: false })
    const error = await failureOf(client.getPlants(), ApiError)
    expect(error).toMatchObject({ status: 401, attempts: 1, retryable: false })
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
    [undefined, `the function returned undefined${ALONE}`],
    [null, `the function returned null${ALONE}`],
    [false, `the function returned false${ALONE}`],
    ['', `the function returned missing${ALONE}`],
    ['two words', TEXT.replace('is', 'the function returned')],
  ])('is an error if the function returns %j', async (returned, reason) => {
    const { options, sent } = recorder()
    const client = createPlantStoreClient({ ...options, token: () => returned as string })
    expect(await failureOf(client.getPlants(), UsageError)).toMatchObject({ detail: `token: ${reason}`, attempts: 0 })
    expect(sent).toEqual([])
  })

  test('that is missing fails the call, and the error says where to set it', async () => {
    vi.stubEnv('PLANT_STORE_TOKEN', '')
    const error = await failureOf(createPlantStoreClient({ baseUrl: 'http://localhost:1' }).getPlants(), UsageError)
    expect(error.detail).toBe(token(`is missing${ALONE}`))
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
  ])(
    'as %s: of the call override those of the client, and both the SDK’s own; null removes one',
    async (_, headers) => {
      const { options, sent } = recorder()
      await createPlantStoreClient({ ...options, headers: client }).getPlants({}, { headers })
      const authorization = 'Bearer pst_test'
      expect(sent[0]?.headers).toEqual({ 'x-client': 'client', 'x-both': 'call', accept: 'text/plain', authorization })
    },
  )

  test('as Headers, and a name that is repeated in pairs is a list', async () => {
    const { options, sent } = recorder()
    const pairs = [['x-a', '1'], ['X-A', '2']] as const // biome-ignore format: one line
    await createPlantStoreClient({ ...options, headers: new Headers({ 'X-B': 'b' }) }).getPlants({}, { headers: pairs })
    expect(sent[0]?.headers).toMatchObject({ 'x-a': '1, 2', 'x-b': 'b' })
  })

  test('declare a body as JSON', async () => {
    const store = createFakePlantStore()
    await createPlantStoreClient(store).createPlant({ id: 1, name: 'Ficus' })
    expect(store.requests[0]?.headers).toMatchObject({ accept: 'application/json', 'content-type': 'application/json' })
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

test.each([null, {}, 'fetch'])('a fetch that is %j fails the call', async (fetch) => {
  const { options } = recorder()
  const error = await failureOf(createPlantStoreClient(options).getPlants({}, { fetch: fetch as never }), UsageError)
  expect(error.detail).toMatch(/^fetch: the function failed: .*is not a function/)
})

test('fetch of a call overrides that of the client', async () => {
  const [client, call] = [recorder(), recorder()]
  const { getPlants } = createPlantStoreClient(client.options)
  await getPlants()
  await getPlants({}, { fetch: call.options.fetch })
  expect([client.sent.length, call.sent.length]).toEqual([1, 1])
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
