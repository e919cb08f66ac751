/** Several requests on a connection before the first response. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { MAX_PIPELINED } from '../../src/limits/connections.ts'
import { exchange } from '../helpers/wire/connection.ts'
import {
  createPlant,
  get,
  KEEP_ALIVE,
  listPlants,
  NO_TOKEN,
  post,
  postHead,
  request,
} from '../helpers/wire/requests.ts'
import { readResponses } from '../helpers/wire/responses.ts'
import { responds } from '../helpers/wire/wire.ts'

const CLOSED = { Connection: 'close' }
const OPEN = { Connection: 'keep-alive' }
const BROKEN_CHUNKS = `${postHead({ 'Transfer-Encoding': 'chunked' })}zz\r\n`
const CHUNKS = '17\r\n{"id":1,"name":"Ficus"}\r\n0\r\n\r\n'
const REJECTED = { ...KEEP_ALIVE, Authorization: null }

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

function postPlant(id: number): string {
  return post(`{"id":${id},"name":"plant ${id}"}`, KEEP_ALIVE)
}

describe('responses come in the order of their requests', () => {
  test('an invalid request between valid ones is one response', () =>
    responds(
      server,
      postPlant(55001) + post('{', KEEP_ALIVE) + get(),
      { status: 200, headers: OPEN },
      { status: 400, error: 40001, headers: OPEN },
      { status: 200, headers: CLOSED },
    ))

  test('a list has the plant of the request before it', async () => {
    const { token } = await server.createToken({ account: 'pipelining' })
    const wire = [1, 2, 3].map((id) => createPlant(token, id) + listPlants(token)).join('')
    const { text } = await exchange(server.url, `${wire}${get('/plants', { Authorization: `Bearer ${token}` })}`)
    const names = [1, 2, 3].map((id) => ({ name: `plant ${id}` }))
    expect(readResponses(text).map(({ body }) => JSON.parse(body))).toEqual([
      names[0],
      names.slice(0, 1),
      names[1],
      names.slice(0, 2),
      names[2],
      names,
      names,
    ])
  })

  test.each([
    ['garbage', 'garbage\r\n\r\n'],
    ['a lot of garbage', 'garbage\r\n\r\n'.repeat(20_000)],
    ['a body instead of chunks', `${postHead({ 'Transfer-Encoding': 'chunked' })}{"id":3,"name":"plant 3"}`],
    ['chunks that are not chunks', BROKEN_CHUNKS],
  ])('%s after two requests gets a 400 after their responses, and the connection is closed', (_what, rest) =>
    responds(
      server,
      postPlant(1) + postPlant(2) + rest,
      { status: 200, body: '{"name":"plant 1"}' },
      { status: 200, body: '{"name":"plant 2"}' },
      { status: 400, error: 40000, headers: CLOSED },
    ),
  )

  test('broken chunks after one request get a 400 after its response', () =>
    responds(server, postPlant(55004) + BROKEN_CHUNKS, { status: 200 }, { status: 400, error: 40000, headers: CLOSED }))
})

describe('a rejected request', () => {
  test('that closes the connection is the last one', () => responds(server, get('/nowhere') + get(), { status: 404 }))

  const next = { status: 200, headers: CLOSED }
  test.each<[string, string, ...Parameters<typeof responds>[2][]]>([
    [
      'has a small body that is skipped, and not read as a request',
      request({ headers: REJECTED, body: get('/plants', NO_TOKEN) }),
      { status: 401, headers: OPEN },
      next,
    ],
    [
      'keeps the connection if its large body has arrived',
      post('x'.repeat(70_000), KEEP_ALIVE),
      { status: 400, error: 40001, headers: OPEN },
      next,
    ],
    [
      'with a large body closes the connection',
      request({ headers: REJECTED, body: get('/plants', NO_TOKEN).padEnd(65 * 1024) }),
      { status: 401, headers: CLOSED },
    ],
    [
      'with chunks closes the connection',
      request({ headers: { ...REJECTED, 'Transfer-Encoding': 'chunked' } }) + CHUNKS,
      { status: 401, headers: CLOSED },
    ],
  ])('%s', (_what, wire, ...expected) => responds(server, wire + get(), ...expected))
})

test(`a connection with more than ${MAX_PIPELINED} waiting requests closes after those`, async () => {
  const { token } = await server.createToken({ account: 'too many' })
  const requests = Array.from({ length: MAX_PIPELINED + 20 }, (_, id) => createPlant(token, id))
  const responses = readResponses((await exchange(server.url, requests.join(''))).text)
  expect(responses.map(({ status }) => status)).toEqual(Array(MAX_PIPELINED + 1).fill(200))
  expect(responses.map(({ headers }) => headers.get('connection'))).toEqual([
    ...Array(MAX_PIPELINED).fill('keep-alive'),
    'close',
  ])
  expect(await (await server.call('/plants', { token })).json()).toHaveLength(MAX_PIPELINED + 1)
})
