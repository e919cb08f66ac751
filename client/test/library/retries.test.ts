/** An operation that is not safe to repeat is sent again only if the service certainly did not process it. */
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { sendError, startTinyServer, type TinyServer } from '../helpers/tiny-server.ts'
import { createLibrarySdk, type LibrarySdk } from './library-sdk.ts'

let sdk: LibrarySdk
beforeAll(async () => {
  sdk = await createLibrarySdk()
})

const RETRIES = 1
const book = { title: 'Kindred', genre: 'novel', authors: [], price: 1, available: true }
const loan = { book: 1, member: 'Ada' }

/** Calls an operation that is safe to repeat, and one that is not; returns the error of each. */
function callBoth(options: object): Promise<[repeatable: unknown, other: unknown]> {
  const { direct } = sdk.createClient({ token: 'pst_test', retries: RETRIES, ...options })
  const errorOf = (call: Promise<unknown> | undefined) => call?.catch((error: unknown) => error)
  return Promise.all([errorOf(direct['putBook']?.({ id: 1 }, book)), errorOf(direct['borrowBook']?.(loan))])
}

/** Counts the requests that a server received for the operation that is safe to repeat, and for the other. */
function count({ requests }: TinyServer): [repeatable: number, other: number] {
  const other = requests.filter(({ url }) => url.endsWith('/loans')).length
  return [requests.length - other, other]
}

describe('not processed, so both are retried', () => {
  test('connection refused', async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}`
    const failure = { kind: 'connection', attempts: 2 }
    expect(await callBoth({ baseUrl })).toEqual([expect.objectContaining(failure), expect.objectContaining(failure)])
  })

  // No test may depend on a name server, so this is the error of Node.js as it is.
  test.each(['ENOTFOUND', 'EAI_AGAIN'])('the name is unknown: %s', async (code) => {
    const fetch = async () => {
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error(`getaddrinfo ${code} library.test`), { code }),
      })
    }
    const unknown = { kind: 'connection', attempts: 2 }
    const errors = await callBoth({ baseUrl: 'http://library.test', fetch })
    expect(errors).toEqual([expect.objectContaining(unknown), expect.objectContaining(unknown)])
  })

  test.each([40800, 42900])('the service responds %s', async (code) => {
    await using server = await startTinyServer((response) => sendError(response, code))
    const status = { status: code / 100, attempts: 2 }
    expect(await callBoth({ baseUrl: server.url })).toEqual([
      expect.objectContaining(status),
      expect.objectContaining(status),
    ])
    expect(count(server)).toEqual([2, 2])
  })

  test('the token is rejected', async () => {
    await using server = await startTinyServer((response) => sendError(response, 40102))
    await callBoth({ baseUrl: server.url, token: () => 'pst_test', retries: 0 })
    expect(count(server)).toEqual([2, 2])
  })
})

describe('perhaps processed, so only the one that is safe to repeat is retried', () => {
  test.each([50000, 50200, 50300, 50400])('the service responds %s', async (code) => {
    await using server = await startTinyServer((response) => sendError(response, code))
    await callBoth({ baseUrl: server.url })
    expect(count(server)).toEqual([2, 1])
  })

  test('the connection breaks before the response', async () => {
    await using server = await startTinyServer((response) => response.destroy())
    const [, error] = await callBoth({ baseUrl: server.url })
    expect(count(server)).toEqual([2, 1])
    expect(error).toMatchObject({ kind: 'connection', attempts: 1 })
  })

  test('the connection breaks in the response', async () => {
    await using server = await startTinyServer((response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': 100 })
      response.write('{"id":', () => response.destroy())
    })
    await callBoth({ baseUrl: server.url })
    expect(count(server)).toEqual([2, 1])
  })

  test('the service does not respond in time', async () => {
    await using server = await startTinyServer(() => undefined)
    const [, error] = await callBoth({ baseUrl: server.url, timeout: 1000 })
    expect(count(server)).toEqual([2, 1])
    expect(error).toMatchObject({ kind: 'timeout', attempts: 1 })
  })
})

test('a malformed response is never retried', async () => {
  await using server = await startTinyServer((response) => response.writeHead(201).end('<html>'))
  await callBoth({ baseUrl: server.url })
  expect(count(server)).toEqual([1, 1])
})

test('an error for tests says the same about a retry as the client', async () => {
  const { createApiError } = await import(path.join(sdk.folder, 'src/testing/index.ts'))
  const isRetryable = (name: string, operation: string): boolean => createApiError({ name, operation }).retryable
  expect([isRetryable('unavailable', 'putBook'), isRetryable('unavailable', 'borrowBook')]).toEqual([true, false])
  expect(isRetryable('tooManyRequests', 'borrowBook')).toBe(true)
})
