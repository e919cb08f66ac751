/** Whatever makes `fetch` throw is a connection error with its cause, and retried unless a retry cannot help. */
import { afterEach, expect, test, vi } from 'vitest'
import { ConnectionError, createPlantStoreClient, type Fetch } from '../../src/index.ts'
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
])(
  'a failure %s has its reason and cause, and is retried unless that is final',
  async (_, thrown, reason, isRetried = true) => {
    const { error, calls } = await failWith(() => Promise.reject(thrown))
    expect(error).toMatchObject({ kind: 'connection', retryable: isRetried, detail: `connection failed${reason}` })
    expect(error.message).toBe(`GET http://plant-store.test/plants: ${error.detail}${isRetried ? ' (attempt 2)' : ''}`)
    expect([error.cause, calls]).toEqual([thrown, isRetried ? 2 : 1])
  },
)

test('in this runtime, a server without TLS is a temporary failure, and a port that fetch refuses is not', async () => {
  await using server = await startTinyServer(() => {})
  const urls = [server.url.replace('http', 'https'), 'http://127.0.0.1:6000']
  const calls = urls.map((baseUrl) => server.createClient({ baseUrl, retries: 0 }).getPlants())
  const errors = await Promise.all(calls.map((call) => failureOf(call, ConnectionError)))
  const kind = 'connection'
  expect(errors).toMatchObject([{ kind, retryable: true }, { kind, retryable: false }]) // biome-ignore format: one line
})

test('a runtime without fetch needs a fetch function of the app', async () => {
  vi.stubGlobal('fetch', undefined)
  expect(() => createPlantStoreClient({ baseUrl: 'http://localhost', token: 'pst_test' })).toThrow('fetch: is missing')
  expect(await createPlantStoreClient(createFakePlantStore()).getPlants()).toEqual([])
  vi.unstubAllGlobals()
})
