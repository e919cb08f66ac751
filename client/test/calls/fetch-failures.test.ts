/** What makes `fetch` throw is a connection error with its cause, and retried unless a retry cannot help. */
import { expect, test, vi } from 'vitest'
import { ConnectionError, createPlantStoreClient, type Fetch } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

const caused = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })

const otherRealm = 'RequestInit: Expected signal ("AbortSignal {}") to be an instance of AbortSignal'
const untrusted = 'The certificate for this server is invalid.'
test.each<[string, unknown, reason: string, isRetried?: boolean]>([
  ['of Node.js', caused('ECONNREFUSED'), ': ECONNREFUSED'],
  ['of Bun', Object.assign(new Error('Unable to connect.'), { code: 'ConnectionRefused' }), ': Unable to connect.'],
  ['of Safari', new TypeError('Load failed'), ': Load failed'],
  ['of Node.js about a certificate', caused('DEPTH_ZERO_SELF_SIGNED_CERT'), ': DEPTH_ZERO_SELF_SIGNED_CERT', false],
  ['of Node.js about a port', caused('bad port'), ': bad port', false],
  ['of Safari about a certificate', new TypeError(untrusted), `: ${untrusted}`, false],
  ['of Electron about a redirect', new Error('Redirect was cancelled'), ': Redirect was cancelled', false],
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

test('a fetch that returns nothing, or a response that is read, has not got one', async () => {
  const store = createFakePlantStore()
  const returned = [() => undefined, (response: Response) => response.json().then(() => response)]
  for (const use of returned) {
    const fetch = async (...request: Parameters<Fetch>) => use((await store.fetch(...request)) as Response) as never
    const error = await failureOf(createPlantStoreClient({ ...store, fetch, retries: 0 }).getPlants(), ConnectionError)
    expect(error).toMatchObject({ kind: 'connection', cause: expect.any(TypeError) })
    expect(error.detail).toBe(`connection failed: ${(error.cause as TypeError).message}`)
  }
})

test('a runtime without fetch needs a fetch function of the app', async () => {
  vi.stubGlobal('fetch', undefined)
  expect(() => createPlantStoreClient({ baseUrl: 'http://localhost', token: 'pst_test' })).toThrow('fetch: is missing')
  expect(await createPlantStoreClient(createFakePlantStore()).getPlants()).toEqual([])
  vi.unstubAllGlobals()
})
