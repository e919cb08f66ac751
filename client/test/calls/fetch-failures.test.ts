/** Whatever makes `fetch` throw is a connection error with its cause, and retried unless a retry cannot help. */
import { afterEach, expect, test, vi } from 'vitest'
import { ConnectionError, createPlantStoreClient, type Fetch, UsageError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { startTinyServer } from '../helpers/tiny-server.ts'

// The modules of a worker are shared with other files.
afterEach(() => void vi.restoreAllMocks())

/** Calls with this `fetch` and returns the error, with the number of times that `fetch` ran. */
async function failWith(fetch: () => unknown, retries = 1) {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const counting = vi.fn(fetch)
  const client = createPlantStoreClient({ ...createFakePlantStore(), fetch: counting as unknown as Fetch, retries })
  return { error: await failureOf(client.getPlants(), ConnectionError), calls: counting.mock.calls.length }
}

const caused = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })

test.each<[string, unknown, reason: string]>([
  ['of Node.js', caused('ECONNREFUSED'), ': ECONNREFUSED'],
  ['of Bun', Object.assign(new Error('Unable to connect.'), { code: 'ConnectionRefused' }), ': Unable to connect.'],
  ['of Safari', new TypeError('Load failed'), ': Load failed'],
  ['of a function with a bug', new ReferenceError('proxyAgent is not defined'), ': proxyAgent is not defined'],
  ['that is text', 'offline', ': offline'],
  ['that is an object without text', Object.create(null), ''],
  ['whose message cannot be read', { get message() { throw 1 } }, ''], // biome-ignore format: one line
])('a failure %s has its reason and cause, and is retried', async (_, thrown, reason) => {
  const { error, calls } = await failWith(() => Promise.reject(thrown))
  expect(error).toMatchObject({ kind: 'connection', retryable: true, detail: `connection failed${reason}` })
  expect([error.cause, calls]).toEqual([thrown, 2])
})

test.each([
  caused('DEPTH_ZERO_SELF_SIGNED_CERT'),
  new TypeError('The certificate for this server is invalid.'),
  new TypeError('fetch failed', { cause: new Error('bad port') }),
])('%s is not retried', async (thrown) => {
  const { error, calls } = await failWith(() => Promise.reject(thrown))
  expect([error.retryable, calls]).toEqual([false, 1])
})

test.each([
  ['nothing', undefined],
  ['parsed JSON', [{ name: 'Ficus' }]],
  ['a response of Axios', { status: 200, data: [], headers: new Headers() }],
])('%s instead of a response is a failure too', async (_, response) => {
  const { error } = await failWith(() => response)
  expect(error).toMatchObject({ kind: 'connection', attempts: 2, cause: { name: 'TypeError' } })
})

test.each(['a host that does not exist', 'a server without TLS', 'a port that fetch refuses'])(
  'in this runtime: %s',
  async (title) => {
    await using server = await startTinyServer(() => {})
    const urls = [server.url.replace('http', 'https'), 'http://127.0.0.1:6000', 'http://plant-store.invalid']
    const baseUrl = urls[title.endsWith('TLS') ? 0 : title.startsWith('a port') ? 1 : 2]
    const error = await failureOf(server.createClient({ baseUrl, retries: 0 } as object).getPlants(), ConnectionError)
    expect(error).toMatchObject({ kind: 'connection', retryable: !title.startsWith('a port') })
  },
)

test('a runtime without fetch needs a fetch function of the app', async () => {
  vi.stubGlobal('fetch', undefined)
  expect(() => createPlantStoreClient({ baseUrl: 'http://localhost', token: 'pst_test' })).toThrow(UsageError)
  expect(() => createPlantStoreClient({ baseUrl: 'http://localhost', token: 'pst_test' })).toThrow('fetch: is missing')
  expect(await createPlantStoreClient(createFakePlantStore()).getPlants()).toEqual([])
  vi.unstubAllGlobals()
})
