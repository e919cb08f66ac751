/** What the headers of requests change in responses, and the headers that every response has. */
import { afterAll, beforeAll, describe, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { get, NO_TOKEN, post, request } from '../helpers/wire/requests.ts'
import { accepts, rejects, responds } from '../helpers/wire/wire.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

describe.each([
  ['is not cached', { 'Cache-Control': 'no-store', ETag: null }],
  [
    'is inert in a browser',
    {
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
      'X-Powered-By': null,
    },
  ],
])('every response %s', (_what, headers) => {
  test('a list', () => accepts(server, get(), { headers }))
  test('a page', () => accepts(server, get('/plants?limit=1'), { headers }))
  test('a plant', () => accepts(server, post('{"id":49001,"name":"Ficus"}'), { headers }))
  test('OPTIONS', () => responds(server, request({ method: 'OPTIONS' }), { status: 204, headers }))
  test('a failure of the app', () => rejects(server, get('/nowhere'), 40400, { headers }))
  test('a failure of the parser', () => rejects(server, 'no request\r\n\r\n', 40000, { headers }))
})

// Others respond 406. JSON is all there is.
describe('Accept is ignored', () => {
  test.each(['application/xml', '*/*;q=0', 'application/json;q=0', 'junk', ',;=', 'text/html, */*'])('%s', (accept) =>
    accepts(server, get('/plants', { Accept: accept }), {
      headers: { 'Content-Type': 'application/json; charset=utf-8' },
    }),
  )
})

describe('conditions and ranges are ignored', () => {
  test('If-None-Match', () => accepts(server, get('/plants', { 'If-None-Match': '*' }), { headers: { ETag: null } }))

  test('If-Modified-Since', () =>
    accepts(server, get('/plants', { 'If-Modified-Since': 'Fri, 01 Jan 2100 00:00:00 GMT' })))

  test('If-None-Match without a token gets a 401', () =>
    rejects(server, get('/plants', { 'If-None-Match': '*', ...NO_TOKEN }), 40101))

  test('Range', () =>
    accepts(server, get('/plants', { Range: 'bytes=0-0' }), { headers: { 'Content-Range': null }, body: /^\[.*\]$/ }))
})

test('responses are not compressed', () =>
  accepts(server, get('/plants', { 'Accept-Encoding': 'gzip, br, zstd, deflate' }), {
    headers: { 'Content-Encoding': null },
  }))

describe('input does not become headers', () => {
  const headers = { 'X-Evil': null }

  test('line ends in a name', () =>
    accepts(server, post('{"id":53001,"name":"a\\r\\nX-Evil: 1\\r\\n\\r\\n"}'), {
      headers,
      body: '{"name":"a\\r\\nX-Evil: 1\\r\\n\\r\\n"}',
    }))

  test('line ends in a query', () => accepts(server, get('/plants?limit=1&x=%0d%0aX-Evil:%201'), { headers }))

  test('line ends in a cursor', () =>
    rejects(server, get('/plants?limit=1&cursor=%0d%0aX-Evil:%201'), 40004, { headers }))
})

describe('X-Request-Id', () => {
  test.each(['a.b_C-1', 'abc-1.2_3'])('%s is kept', (id) =>
    accepts(server, get('/plants', { 'X-Request-Id': id }), { headers: { 'X-Request-Id': id } }),
  )

  test.each(['a b', 'a;b', '<script>', '\xfc', 'x'.repeat(65), ''])('%s is replaced', (id) =>
    accepts(server, get('/plants', { 'X-Request-Id': id }), { headers: { 'X-Request-Id': /^[\da-f-]{36}$/ } }),
  )

  test('is in failures, too', () =>
    rejects(server, get('/nowhere', { 'X-Request-Id': 'abc' }), 40400, { headers: { 'X-Request-Id': 'abc' } }))
})
