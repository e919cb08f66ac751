/** A bug in a `fetch` function is not a network failure, and a network failure is never taken for a bug. */
import assert from 'node:assert/strict'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ConnectionError, createPlantStoreClient, type Fetch, UsageError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { startTinyServer } from '../helpers/tiny-server.ts'

// The modules of a worker are shared with other files.
afterEach(() => void vi.restoreAllMocks())

/** Calls with this `fetch` and returns the error, with the number of times that `fetch` ran. */
async function failWith(fetch: (url: string, init: RequestInit) => unknown, retries = 1) {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const counting = vi.fn(fetch)
  const client = createPlantStoreClient({ ...createFakePlantStore(), fetch: counting as unknown as Fetch, retries })
  const { error } = await client.safe.getPlants()
  return { error, calls: counting.mock.calls.length }
}

const readTwice = async (response: Response) => [await response.text(), await response.text()]
const unset = undefined as unknown as { agent: { name: string }; (): void }

describe('a bug of the fetch function is a UsageError with its cause, and not retried', () => {
  type Row = [string, (url: string, init: RequestInit) => unknown, RegExp]
  test.each<Row>([
    ['a missing variable', () => Reflect.get(globalThis, 'eval')('proxyAgent'), /proxyAgent is not defined/],
    ['a field of undefined', () => unset.agent.name, /Cannot read properties of undefined/],
    ['a call of undefined', () => unset(), /is not a function/],
    ['a value that cannot be iterated', () => [...(1 as unknown as string)], /is not iterable|Spread/],
    ['JSON that does not parse', () => JSON.parse('<'), /JSON/],
    ['an invalid status', () => new Response('', { status: 99 }), /range/],
    ['a relative URL', async () => await fetch('/plants'), /URL/],
    ['an invalid signal', async (url) => await fetch(url, { signal: {} as AbortSignal }), /signal/],
    ['a body that was read', async () => await readTwice(Response.json([])), /Body/],
    ['a bigint in JSON', () => JSON.stringify(1n), /BigInt/],
    ['a class without new', () => Reflect.apply(class {} as never, undefined, []), /without 'new'/],
    ['an argument that Node.js rejects', () => Buffer.from(undefined as never), /first argument/],
    ['an assertion of Node.js', () => assert.equal(1, 2), /strictly equal/],
    ['an EvalError', () => Promise.reject(new EvalError('no code from strings')), /strings/],
    ['an invalid header name', async (url) => await fetch(url, { headers: { 'a b': '1' } }), /header name/],
    ['no response', () => undefined, /undefined/],
    ['parsed JSON', async () => [{ name: 'Ficus' }], /undefined/],
    ['a response of Axios', async () => ({ status: 200, data: [], headers: new Headers() }), /text is not a function/],
    ['a response of undici.request', async () => ({ statusCode: 200, headers: {}, body: [] }), /get is not a function/],
    // The same bugs in the words of Firefox, Safari and Deno.
    ...[
      ...['response is undefined', 'agent is null', "undefined is not an object (evaluating 'agent.name')"],
      ...["Failed to execute 'fetch' on 'Window': Illegal invocation", 'Body already used'],
      ...['JSON.stringify cannot serialize cyclic structures.', 'reduce of empty array with no initial value'],
      ...['undefined is not a constructor', 'agents is not async iterable', 'Invalid header name: "a b"'],
      'Window.fetch: no way is not a valid HTTP method.',
    ].map((text): Row => [text, () => Promise.reject(new TypeError(text)), /./]),
  ])('%s', async (_, fetch, text) => {
    const { error, calls } = await failWith(fetch)
    expect(error).toBeInstanceOf(UsageError)
    expect(error).toMatchObject({ kind: 'usage', attempts: 1, retryable: false })
    expect(error?.message).toMatch(/^GET http:\/\/plant-store\.test\/plants: fetch: the function failed: /)
    expect(error?.message).toMatch(text)
    expect(error?.cause).toMatchObject({ message: expect.stringMatching(text) })
    expect(calls).toBe(1)
  })
})

describe('a network failure is a ConnectionError, and retried', () => {
  const code = (name: string) => Object.assign(new Error(`connect ${name} 127.0.0.1:80`), { code: name })

  test.each<[string, unknown]>([
    ['Node.js', new TypeError('fetch failed', { cause: code('ECONNREFUSED') })],
    ['Node.js, in the body', new TypeError('terminated', { cause: new Error('other side closed') })],
    ['Bun', Object.assign(new Error('Unable to connect. Is the computer able to'), { code: 'ConnectionRefused' })],
    ['Cloudflare Workers', new Error('Network connection lost.')],
    ['MSW', new TypeError('Failed to fetch', { cause: Response.error() })],
    ['a named class', Object.assign(new TypeError('x is not a function'), { name: 'OfflineError' })],
    ['a time limit', new DOMException('The operation was aborted due to timeout', 'TimeoutError')],
    ['text', 'offline'],
    ...[
      // Chrome, Firefox, and a proxy.
      ...['Failed to fetch', 'NetworkError when attempting to fetch resource.'],
      ...['Origin http://x is not an allowed origin.', 'Host x is not a known host.'],
      // Safari, also in German.
      ...['Load failed', 'cannot parse response', 'A data connection is not currently allowed.'],
      'Es besteht anscheinend keine Verbindung zum Internet.',
      // Deno.
      'error sending request for url (http://x/): client error (Connect): tcp connect error',
      'error reading a body from connection',
    ].map((message): [string, unknown] => ['a TypeError', new TypeError(message)]),
  ])('of %s: %s', async (_, thrown) => {
    const { error, calls } = await failWith(() => Promise.reject(thrown))
    expect(error).toBeInstanceOf(ConnectionError)
    expect([error?.kind, error?.retryable, calls]).toEqual(['connection', true, 2])
  })

  test.each([
    new TypeError('fetch failed', { cause: code('DEPTH_ZERO_SELF_SIGNED_CERT') }),
    new TypeError('fetch failed', { cause: new Error('certificate is not yet valid') }),
    new TypeError('The certificate for this server is invalid.'),
  ])('but not retried if a certificate is not trusted: %s', async (thrown) => {
    const { error, calls } = await failWith(() => Promise.reject(thrown))
    expect([error?.kind, error?.retryable, calls]).toEqual(['connection', false, 1])
  })

  test.each<[string, () => unknown, string]>([
    ['an object without text', () => Object.create(null), ''],
    ['a message that is not text', () => ({ message: 5 }), ': 5'],
    ['a message that cannot be read', () => ({ get message() { throw 1 } }), ''], // biome-ignore format: one line
  ])('also %s', async (_, create, reason) => {
    const { error } = await failWith(() => Promise.reject(create()), 0)
    expect(error).toMatchObject({ kind: 'connection', detail: `connection failed${reason}` })
  })

  test.each(['a host that does not exist', 'a server without TLS'])('in this runtime: %s', async (title) => {
    await using server = await startTinyServer(() => {})
    const baseUrl = title.endsWith('TLS') ? server.url.replace('http', 'https') : 'http://plant-store.invalid'
    const error = await failureOf(server.createClient({ baseUrl, retries: 0 }).getPlants(), ConnectionError)
    expect(error).toMatchObject({ kind: 'connection', retryable: true, cause: { name: 'TypeError' } })
  })
})

describe('a runtime without', () => {
  /** Runs a test while a global is missing. */
  async function without(name: string, run: () => Promise<void>): Promise<void> {
    const descriptor = Object.getOwnPropertyDescriptor(globalThis, name) as PropertyDescriptor
    Reflect.deleteProperty(globalThis, name)
    await run().finally(() => Object.defineProperty(globalThis, name, descriptor))
  }

  test.each(['fetch', 'AbortController', 'performance', 'Headers'])('%s gives an error that names it', async (name) => {
    const options = { baseUrl: 'http://localhost', token: 'pst_test', headers: { 'x-job': '7' } }
    await without(name, async () => {
      const call = async () => await createPlantStoreClient(options).getPlants()
      const pattern = `${name}(: is missing; set it| is not defined)|there is no ${name}`
      expect((await failureOf(call(), UsageError)).message).toMatch(new RegExp(pattern))
    })
  })

  test('fetch works with a fetch function of the app', async () => {
    await without('fetch', async () => {
      expect(await createPlantStoreClient(createFakePlantStore()).getPlants()).toEqual([])
    })
  })
})
