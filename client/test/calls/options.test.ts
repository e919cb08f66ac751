/**
 * The options of a client and of a call, and other arguments: effects, precedence, and that
 * nothing is ignored or rounded.
 */
import { readFile } from 'node:fs/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { routes } from '../../src/generated/routes.ts'
import * as sdk from '../../src/index.ts'
import { createPlantStoreClient, TokenError, UsageError } from '../../src/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))

afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
})

/** Creates clients of a service that responds with an empty list, and records what it gets. */
function recorder() {
  const sent: { url: string; headers: Record<string, string>; body: string | undefined }[] = []
  const fetch: sdk.Fetch = async (url: string, init: sdk.FetchInit) => {
    sent.push({ url, headers: init.headers as Record<string, string>, body: init.body })
    return Response.json([])
  }
  const create = (options: sdk.ClientOptions = {}) =>
    createPlantStoreClient({ baseUrl: 'http://localhost', token: 'pst_test', fetch, ...options })
  return { fetch, create, sent, tokens: () => sent.map(({ headers }) => headers['authorization']) }
}

/** Returns the message of the error of a function that creates a client. */
const rejectionBy = async (create: () => unknown) => (await failureOf((async () => create())(), UsageError)).message

const rejectionOf = (options: unknown) => rejectionBy(() => createPlantStoreClient(options as sdk.ClientOptions))

/** Returns the detail of the error of a call with these options. */
async function callRejectionOf(options: unknown, error = UsageError as typeof sdk.PlantStoreError): Promise<string> {
  const { create, sent } = recorder()
  const { detail, retryable } = await failureOf(create().getPlants({}, options as sdk.CallOptions), error)
  expect(retryable).toBe(false)
  expect(sent).toEqual([])
  return detail
}

const OPTIONS = 'token, timeout, maxResponseBytes, retries, retryDelay, signal, headers, fetch, hooks'
const notOf = `options: must be an object of ${OPTIONS}`
const each = (name: string, values: unknown[]) => values.map((value) => ({ [name]: value }))
const LEAVE_OUT = '; set it, or leave the option out and set PLANT_STORE_TOKEN; false is for none'
const NO_TOKEN = 'must be ASCII text without whitespace'
const INVALID = 'must be a valid text'

describe('an option', () => {
  const bare = Object.assign(Object.create(null), { tiemout: 5 })
  const invalid: Record<string, unknown[]> = {
    [`tiemout: is not one of ${OPTIONS}`]: [{ tiemout: 5 }, bare],
    [notOf]: [false, 'pst_test', [], new Map([['timeout', 5]]), new AbortController().signal],
    'timeout: must be a positive number': each('timeout', [0, -1, Number.NaN, '5', null]),
    'maxResponseBytes: must be a positive number': each('maxResponseBytes', [0, '5']),
    'retries: must be a non-negative integer': each('retries', [-1, 1.5, Number.POSITIVE_INFINITY]),
    'retryDelay: must be a non-negative integer': each('retryDelay', [-1, 0.5, '0', Number.POSITIVE_INFINITY]),
    'signal: must be an AbortSignal': each('signal', [new AbortController(), null]),
    'hooks: must be an object of request, response, error': each('hooks', [null, [null], () => {}]),
    'hooks.error: must be a function': each('hooks', [{ error: null }, [{}, { error: 5 }]]),
    'fetch: must be a function': each('fetch', [null, 'fetch']),
    'hooks.onRequest: is not one of request, response, error': [{ hooks: [{ onRequest() {} }] }],
    [`token: is undefined${LEAVE_OUT}`]: [{ retries: 0, token: undefined }, { get token() { return undefined } }], // biome-ignore format: one line
    [`token: ${NO_TOKEN}${LEAVE_OUT}`]: each('token', [null, 5, '', 'Bearer pst_secret', 'pst_secret\n', 'töken']),
    'headers: must be an object': each('headers', [null, 'x-key: secret']),
    // What follows a valid name may be a secret.
    [`headers.x: ${INVALID}`]: each('headers', [['x-key: secret'], { 'x key: secret': 'a' }]),
    [`headers.x-key: ${INVALID}`]: [
      { headers: [['x-key', 'secret', 'x']] },
      ...each('headers', each('x-key', [{ secret: 1 }, ['secret'], 'a\nsecret', 'secret 🌱'])),
    ],
  }
  const rows = Object.entries(invalid).flatMap(([detail, list]) => list.map((options) => [detail, options] as const))
  test.each(rows)('%s: of a client and of a call is an error, and no value is shown (%o)', async (detail, options) => {
    vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
    // A token of a call may come from a user of the app.
    if (detail.startsWith('token'))
      expect(await callRejectionOf(options, TokenError)).toBe(detail.replace(LEAVE_OUT, ''))
    else expect(await callRejectionOf(options)).toBe(detail.replace(/^(?!options: )/, 'options.'))
    const client = recorder().create()
    expect(await rejectionBy(() => client.withOptions(options as sdk.CallOptions))).toBe(detail)
    // Before the error that `baseUrl` is missing.
    expect(await rejectionOf(options)).toBe(detail.replace(OPTIONS, `baseUrl, ${OPTIONS}`))
  })

  test('may be undefined, or inherited', async () => {
    const { create, fetch, tokens } = recorder()
    // As with a getter of a class.
    const inherited = Object.create({ baseUrl: 'http://localhost', token: 'pst_inherited', fetch })
    await createPlantStoreClient(inherited).getPlants()
    // All but `token` may be undefined.
    const names = ['constructor', ...OPTIONS.replace('token, ', '').split(', ')]
    const unset = Object.fromEntries(names.map((name) => [name, undefined]))
    await create({ ...unset, fetch }).getPlants({ page: undefined } as object, unset)
    expect(tokens()).toEqual(['Bearer pst_inherited', 'Bearer pst_test'])
  })
})

// A field or a filter may be added.
const [QUERY, BODY] = [routes.getPlants.query, routes.createPlant.body].map((names) => names?.join(', '))

describe('the input of a call', () => {
  const hint = '; options are the second argument'
  const INT64 = 'id: must be a bigint, a safe integer or digits (int64)'
  const page = `page: is not one of ${QUERY}${hint}`
  const texts = ['', ' 1', '1.0', '0x1', `${2n ** 63n}`]
  const ids = [2 ** 53, -(2 ** 53), 1.5, null, true, Object(1), 2n ** 63n, -(2n ** 63n) - 1n, ...texts]
  const otherQueries = [new URLSearchParams('limit=5'), new AbortController().signal, 'limit=5']
  const unsafeTexts = ['\uD800', 'a\uDC00b', '\uDC00\uD800', '\0']
  const notJson = [() => 'fig', Symbol('fig'), new Date(0), new Map(), Object('fig'), { toJSON: () => undefined }]
  const inexact = [[1, { a: 2 ** 53 }], 2 ** 53]
  const withTag = (tag: unknown) => ({ id: 1, name: '', tag })
  test.each<[detail: string, operation: 'getPlants' | 'createPlant', inputs: unknown[]]>([
    [`${page}; ${page.replace('page', 'size')}`, 'getPlants', [{ cursor: '\0', page: 1, size: 2 }]],
    [`signal: is not one of ${QUERY}${hint}`, 'getPlants', [{ signal: new AbortController().signal }]],
    [`input: must be an object of ${QUERY}${hint}`, 'getPlants', otherQueries],
    [`input: must be an object of ${BODY}${hint}`, 'createPlant', ['Ficus', [], new Map()]],
    ['limit: must be a bigint or a safe integer', 'getPlants', [{ limit: Number.NaN }]],
    ['limit: must be text, a number or a boolean', 'getPlants', [{ limit: null }]],
    ['cursor: must not contain U+0000 or a lone surrogate', 'getPlants', [{ cursor: '\0' }]],
    [INT64, 'createPlant', ids.map((id) => ({ id, name: '' }))],
    [`${INT64}; name: is required`, 'createPlant', [{ id: 'a' }]],
    ['id: is required; name: is required', 'createPlant', [undefined, null, {}, { id: undefined }]],
    ['tag: must not contain U+0000 or a lone surrogate', 'createPlant', unsafeTexts.map(withTag)],
    ['tag: must be JSON', 'createPlant', [...notJson, notJson, { a: notJson[0] }].map(withTag)],
    ['tag: must be JSON', 'createPlant', [[undefined], Array(1)].map(withTag)],
    ['tag: must be a bigint or a safe integer', 'createPlant', inexact.map(withTag)],
  ])('%s: an error of %s with an issue for each field, and nothing is sent', async (detail, name, inputs) => {
    const { create, sent } = recorder()
    for (const input of inputs) {
      const error = await failureOf(create()[name](input as never), UsageError)
      expect([input, error.detail, error.attempts, error.url]).toEqual([input, detail, 0, 'http://localhost/plants'])
      expect(error.issues.map(({ path, message }) => `${path}: ${message}`).join('; ')).toBe(detail)
    }
    expect(sent).toEqual([])
  })

  test('is followed by options only', async () => {
    const tooMany = recorder().create().getPlants as (...all: object[]) => Promise<unknown>
    expect((await failureOf(tooMany({}, {}, {}), UsageError)).detail).toBe('arguments: must be input and options only')
  })
})

describe('baseUrl', () => {
  test.each(['', '/', '/shop/', '/a/b%20c', '/@scope'])('may have the path "%s"', async (path) => {
    const { create, sent } = recorder()
    await create({ baseUrl: `HTTP://LOCALHOST:8080${path}` }).getPlants({ limit: 5 })
    expect(sent.map(({ url }) => url)).toEqual([`http://localhost:8080${path.replace(/\/+$/, '')}/plants?limit=5`])
  })

  const invalid: Record<string, unknown[]> = {
    'is missing; set it, or leave the option out and set PLANT_STORE_URL': ['', undefined, null],
    'must be an HTTP URL': ['localhost:3000', '//example.com', './api', '/plants', 'http://[', 'ftp://example.com'],
    'must not have credentials, a query or a fragment': [
      ...['me:secret@a.b', 'secret@a.b', 'a.b/?a=secret', 'a.b/?', 'a.b/#secret'].map((end) => `https://${end}`),
    ],
  }
  test.each(Object.entries(invalid))('%s: is an error, although the environment has one', async (reason, urls) => {
    vi.stubEnv('PLANT_STORE_URL', 'http://localhost:1')
    for (const baseUrl of urls) expect(await rejectionOf({ baseUrl, token: 'pst_test' })).toBe(`baseUrl: ${reason}`)
  })

  test('may be a path of the origin of the page, which it never leaves', async () => {
    vi.stubGlobal('location', new URL('https://page.example/shop/page?a=1#b'))
    const { create, sent } = recorder()
    await create({ baseUrl: '/api/v1/' }).getPlants()
    expect(sent[0]?.url).toBe('https://page.example/api/v1/plants')
    const parts = ['/', '\\', '\t', '\n', '\0', ' ', '@', ':', '.', '%2f', '?', '#', 'a', '／']
    const hostile = parts.flatMap((a) => parts.flatMap((b) => parts.map((c) => `/${a}${b}${c}evil.com/api`)))
    for (const baseUrl of [...hostile, 'api', '../api']) {
      const sending = (async () => create({ baseUrl }).getPlants())()
      await sending.catch(({ detail }) => expect(detail).toContain('baseUrl: '))
    }
    expect(new Set(sent.map(({ url }) => new URL(url).origin))).toEqual(new Set(['https://page.example']))
  })
})

const CONFLICT = 'token: must be false if headers have Authorization'

describe('who sends a call', () => {
  const other = 'Bearer pst_other'
  const headers = { Authorization: other }

  test('is never ambiguous: a header Authorization next to a token is an error', async () => {
    vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
    for (const own of [{}, { token: 'pst_call' }, { token: () => 'pst_call' }]) {
      for (const text of [other, '']) {
        const both = { headers: { Authorization: text }, ...own }
        expect(await callRejectionOf(both)).toBe(`options.${CONFLICT}`)
        expect(await rejectionOf(both)).toBe(CONFLICT)
      }
    }
    const { create, tokens } = recorder()
    const anonymous = create({ headers, token: false })
    expect((await failureOf(anonymous.getPlants({}, { token: 'pst_call' }), UsageError)).issues).toHaveLength(1)
    await anonymous.getPlants()
    await anonymous.getPlants({}, { token: 'pst_call', headers: { authorization: null } })
    expect(tokens()).toEqual([other, 'Bearer pst_call'])
  })

  test('may be added by a hook, without a token and a header', async () => {
    const { create, tokens } = recorder()
    const client = create({ hooks: { request: (attempt) => Object.assign(attempt.headers, headers) } })
    const empty = create({ hooks: { request: (attempt) => Object.assign(attempt.headers, { authorization: '' }) } })
    await failureOf(empty.getPlants(), UsageError)
    for (const own of [{}, { token: false, headers: { Authorization: 'Basic YTpi' } } as const]) {
      expect((await failureOf(client.getPlants({}, own), UsageError)).detail).toBe(CONFLICT)
    }
    await client.getPlants({}, { token: false })
    expect(tokens()).toEqual([other])
  })

  test('is the token of the call, of the client, or of the environment; false sends none', async () => {
    vi.stubEnv('PLANT_STORE_TOKEN', 'pst_environment')
    vi.stubEnv('PLANT_STORE_URL', 'http://localhost:8080')
    const { create, fetch, sent, tokens } = recorder()
    const client = create()
    await createPlantStoreClient({ fetch }).getPlants()
    await client.getPlants({}, { token: () => 'pst_call' })
    await client.withOptions({ token: false }).getPlants({}, { hooks: { request: () => {} } })
    await client.withOptions({ token: false }).getPlants({}, { token: 'pst_call' })
    // `withOptions` does not change it.
    await client.getPlants()
    const [environment, test, call] = ['environment', 'test', 'call'].map((name) => `Bearer pst_${name}`)
    expect(tokens()).toEqual([environment, call, undefined, call, test])
    expect(sent[0]?.url).toBe('http://localhost:8080/plants')
  })

  test.each([
    [undefined, 'is undefined'],
    [false, NO_TOKEN],
    ['two words', NO_TOKEN],
  ])('is a TokenError if the function returns %j: it %s', async (returned, reason) => {
    const client = recorder().create({ token: () => returned as never })
    const error = await failureOf(client.getPlants(), TokenError)
    expect(error).toMatchObject({ detail: `token: ${reason}`, retryable: false, attempts: 0 })
  })
})

test('the environment is checked when the client is created', async () => {
  const { fetch } = recorder()
  vi.stubEnv('PLANT_STORE_URL', 'http://localhost:8080')
  for (const [value, reason] of Object.entries({ '': 'is undefined', 'pst_a\n': NO_TOKEN })) {
    vi.stubEnv('PLANT_STORE_TOKEN', value)
    expect(await rejectionOf({ fetch })).toBe(`token: ${reason}${LEAVE_OUT}`)
  }
  for (const process of [undefined, Object.defineProperty({}, 'env', { get: () => expect.fail('denied') })]) {
    vi.stubGlobal('process', process)
    expect(await rejectionOf({})).toContain('baseUrl: is missing')
  }
})

describe('headers', () => {
  test('of the call override the client’s, and both the SDK’s; null removes one', async () => {
    const { create, sent } = recorder()
    const client = create({ headers: { 'X-Client': 'client', 'X-Both': 'client', 'X-Removed': 'client' } })
    const changed = client.withOptions({ headers: new Headers({ 'X-Both': 'other', 'X-Changed': 'other' }) })
    const set = { 'x-both': ' call\r\n', Accept: 'text/plain', 'x-list': '1', 'X-List': '2' }
    const call = Object.entries({ ...set, 'x-unset': undefined, 'x-removed': null, 'User-Agent': null })
    await changed.getPlants({}, { headers: call })
    expect(sent[0]?.headers).toEqual({
      ...{ 'x-client': 'client', 'x-changed': 'other', 'x-both': 'call', 'x-list': '1, 2' },
      ...{ accept: 'text/plain', authorization: 'Bearer pst_test' },
    })
  })

  test('have the user agent of the SDK and the runtime, but not in a browser', async () => {
    const { create, sent } = recorder()
    for (const userAgent of ['Node.js/24', 'Mozilla/5.0 (X11; Linux x86_64)']) {
      vi.stubGlobal('navigator', { userAgent })
      await create().getPlants()
    }
    const own = `plant-store-client/${manifest.version} (Node.js/24)`
    expect(sent.map(({ headers }) => headers['user-agent'])).toEqual([own, undefined])
  })
})

test('an id is an int64 as a bigint, digits or a safe integer, and parseId says what is wrong with another', async () => {
  const { create, sent } = recorder()
  const min = -(2n ** 63n)
  const ids = [min, -min - 1n, 0n, -1n, 2n ** 53n + 1n]
  for (const given of [...ids, ...ids.map(String), `-${'0'.repeat(50)}7`, 2 ** 53 - 1, -0]) {
    const id = BigInt(given)
    expect(sdk.parseId(given)).toBe(id)
    await create().safe.createPlant({ id: given, name: '' })
    expect(sent.at(-1)?.body).toBe(`{"id":${id},"name":""}`)
  }
  const texts = ',-, 1,1 ,+1,0x10,1.0,1e3,١,1\n,abc'.split(',')
  const invalid = {
    'not-an-integer': [...texts, 2 ** 53, -1e30, 1.5, Number.NaN, null, [1], Object(1)],
    'out-of-range': [min - 1n, String(min - 1n), String(-min), '9'.repeat(19), '9'.repeat(3_000_000)],
  }
  for (const [reason, values] of Object.entries(invalid)) {
    for (const value of values) expect([value, sdk.parseId(value as string)]).toEqual([value, reason])
  }
})
