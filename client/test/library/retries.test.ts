/** An operation that is not safe to repeat is sent again only if the service certainly did not process it. */
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { type Handler, sendError, startTinyServer } from '../helpers/tiny-server.ts'
import { createSdk, library } from './library.ts'

let sdk: Awaited<ReturnType<typeof createSdk>>
beforeAll(async () => {
  sdk = await createSdk(library)
})

const book = { title: 'Kindred', genre: 'novel', authors: [], price: 1 }

/** Calls an operation that is safe to repeat, and one that is not; returns the attempts and the error of each. */
async function callBoth(options: object) {
  const { raw } = sdk.createClient({ token: 'pst_test', retries: 1, ...options })
  const calls = [raw['putBook']?.({ id: 1 }, book), raw['borrowBook']?.({ book: 1, member: 'Ada' })]
  const errors = await Promise.all(calls.map((call) => call?.catch((error: unknown) => error)))
  return errors as { kind: string; attempts: number }[]
}

const respond =
  (code: number): Handler =>
  (response) =>
    sendError(response, code)

test.each<[title: string, Handler, repeatable: number, other: number, options?: object]>([
  ...[40800, 42900].map((code): [string, Handler, number, number] => [`a ${code}`, respond(code), 2, 2]),
  // A token that is rejected is asked for once more.
  ['a 40102', respond(40102), 2, 2, { token: () => 'pst_test', retries: 0 }],
  ...[50000, 50200, 50300, 50400].map((code): [string, Handler, number, number] => [`a ${code}`, respond(code), 2, 1]),
  ['a connection that breaks before the response', (response) => response.destroy(), 2, 1],
  [
    'a connection that breaks in the response',
    (response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': 100 })
      response.write('{"id":', () => response.destroy())
    },
    ...([2, 1] as const),
  ],
  ['no response in time', () => undefined, 2, 1, { timeout: 1000 }],
  ['a malformed response', (response) => response.writeHead(201).end('<html>'), 1, 1],
])(
  'after $0 the one that is safe to repeat is sent $2 times, the other $3 times',
  async (_, handler, repeatable, other, options) => {
    await using server = await startTinyServer(handler)
    const errors = await callBoth({ baseUrl: server.url, ...options })
    const loans = server.requests.filter(({ url }) => url.endsWith('/loans')).length
    expect([server.requests.length - loans, loans]).toEqual([repeatable, other])
    expect(errors.map(({ attempts }) => attempts)).toEqual([repeatable, other])
  },
)

test.each(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'])(
  'after %s nothing was sent, so both are retried',
  async (code) => {
    // No test may depend on a name server, so this is the error of Node.js as it is.
    const fetch = async () => {
      throw new TypeError('fetch failed', { cause: Object.assign(new Error(`${code} library.test`), { code }) })
    }
    const baseUrl = `http://127.0.0.1:${await freePort()}`
    const errors = await callBoth({ baseUrl, ...(code !== 'ECONNREFUSED' && { fetch }) })
    expect(errors).toMatchObject([
      { kind: 'connection', attempts: 2 },
      { kind: 'connection', attempts: 2 },
    ])
  },
)

test('an error for tests says the same about a retry as the client', async () => {
  const { createApiError } = await import(path.join(sdk.folder, 'src/testing/index.ts'))
  const isRetryable = (name: string, operation: string): boolean => createApiError({ name, operation }).retryable
  expect([isRetryable('unavailable', 'putBook'), isRetryable('unavailable', 'borrowBook')]).toEqual([true, false])
  expect(isRetryable('tooManyRequests', 'borrowBook')).toBe(true)
})
