/** What makes `fetch` throw is a connection error with its cause, and retried unless a retry cannot help. What it returns is a response. */
import { expect, test, vi } from 'vitest'
import { ConnectionError, createPlantStoreClient, type Fetch, UsageError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { startTinyServer } from '../helpers/tiny-server.ts'

const caused = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })

const otherRealm = 'RequestInit: Expected signal ("AbortSignal {}") to be an instance of AbortSignal'
const untrusted = 'The certificate for this server is invalid.'
test.each<[string, unknown, reason: string, isRetried?: boolean]>([
  ['of Node.js', caused('ECONNREFUSED'), ': ECONNREFUSED'],
  ['of Bun', Object.assign(new Error('Unable to connect.'), { code: 'ConnectionRefused' }), ': Unable to connect.'],
  ['of Safari', new TypeError('Load failed'), ': Load failed'],
  ['of a function with a bug', new ReferenceError('proxyAgent is not defined'), ': proxyAgent is not defined'],
  ['that is text', 'offline', ': offline'],
  ['that is an object without text', Object.create(null), ''],
  ['whose message cannot be read', { get message() { throw 1 } }, ''], // biome-ignore format: one line
  ['of Node.js about a certificate', caused('DEPTH_ZERO_SELF_SIGNED_CERT'), ': DEPTH_ZERO_SELF_SIGNED_CERT', false],
  ['of Safari about a certificate', new TypeError(untrusted), `: ${untrusted}`, false],
  ['of Node.js about the signal of jsdom', new TypeError(`${otherRealm}.`), `: ${otherRealm}.`, false],
])('a failure %s has its reason and cause, and is retried unless that is final', async (...row) => {
  const [, thrown, reason, isRetried = true] = row
  const fetch = vi.fn().mockRejectedValue(thrown)
  const client = createPlantStoreClient({ ...createFakePlantStore(), fetch, retries: 1, retryDelay: 0 })
  const error = await failureOf(client.getPlants(), ConnectionError)
  expect(error).toMatchObject({ kind: 'connection', retryable: isRetried, detail: `connection failed${reason}` })
  expect(error.message).toBe(`GET http://plant-store.test/plants: ${error.detail}${isRetried ? ' (attempt 2)' : ''}`)
  expect([error.cause, fetch.mock.calls.length]).toEqual([thrown, isRetried ? 2 : 1])
})

const READ = 'must return a Response that is not read yet; read its clone() instead'
test.each<[string, (response: Response) => unknown, reason?: string]>([
  ['nothing', () => undefined],
  ['null', () => null],
  ['text', (response) => response.text()],
  ['the data', (response) => response.json()],
  ['what another library returns', ({ status }) => ({ status, headers: { date: '' }, data: [] })],
  ['a response that is read', (response) => response.json().then(() => response), READ],
  ['a response that is being read', (response) => [response, response.text()][0], READ],
  ['a response with a reader', (response) => response.body?.getReader() && response, READ],
])('a fetch that returns %s is an error that says what it must return, and nothing is sent again', async (...row) => {
  const [, returned, reason = 'must return a Response'] = row
  const store = createFakePlantStore()
  const fetch = async (...request: Parameters<Fetch>) => returned((await store.fetch(...request)) as Response) as never
  const error = await failureOf(createPlantStoreClient({ ...store, fetch }).getPlants(), UsageError)
  expect(error).toMatchObject({ detail: `fetch: ${reason}`, attempts: 1, retryable: false })
  expect(store.requests).toHaveLength(1)
})

test('in this runtime, a server without TLS is a temporary failure, and a port that fetch refuses is not', async () => {
  await using server = await startTinyServer(() => {})
  const urls = [server.url.replace('http', 'https'), 'http://127.0.0.1:6000']
  const results = urls.map((baseUrl) => server.createClient({ baseUrl, retries: 0 }).safe.getPlants())
  const errors = (await Promise.all(results)).map(({ error }) => [error?.kind, error?.retryable])
  expect(errors).toEqual([['connection', true], ['connection', false]]) // biome-ignore format: one line
})

test('a runtime without fetch needs a fetch function of the app', async () => {
  vi.stubGlobal('fetch', undefined)
  expect(() => createPlantStoreClient({ baseUrl: 'http://localhost', token: 'pst_test' })).toThrow('fetch: is missing')
  expect(await createPlantStoreClient(createFakePlantStore()).getPlants()).toEqual([])
  vi.unstubAllGlobals()
})
