/** What the headers of requests change, and the headers that responses have. */
import { contract } from '@plant-store/contract'
import { expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { get, NO_TOKEN, post, request } from '../helpers/wire/requests.ts'
import { accepts, rejects, responds } from '../helpers/wire/wire.ts'

const PLANT = '{"id":1,"name":"ü"}'

const server = await startTestServer()

const ORIGIN = 'https://app.example.com'
const APP = 'capacitor://localhost'
const allowing = await startTestServer({ corsOrigins: [ORIGIN, APP] })
const HEADERS = 'authorization,baggage,content-type,traceparent,x-anything'
const METHODS = new Set(['HEAD', ...Object.values(contract).map(({ method }) => method)])
const PREFLIGHT = { 'access-control-request-method': 'POST', 'access-control-request-headers': HEADERS }

// What `responds` expects of all responses includes that none has a header of CORS.
test('without CORS_ORIGINS a page gets responses that it cannot read', async () => {
  await accepts(server, get('/plants', { Origin: ORIGIN }))
  const preflight = request({ method: 'OPTIONS', headers: { ...NO_TOKEN, Origin: ORIGIN, ...PREFLIGHT } })
  await responds(server, preflight, { status: 204 })
})

const ACCEPT = { Accept: 'application/json' }
const SPACES = ' '.repeat(15_000)

const notJson = [null, '', 'text/plain', 'application/jsonp', 'application/problem+json', `application/json${SPACES}x`]
test.each(notJson)('a media type that is not JSON gets a 415 with Accept: $0', (type) =>
  rejects(server, post(PLANT, { 'Content-Type': type }), 41500, {
    headers: ACCEPT,
    message: /: must be application\/json/,
  }),
)

test.each([
  ['utf-16', /UTF-8, not "utf-16"$/],
  ['"latin1"; charset=utf-8', /"latin1"$/],
  ['utf-80', /"utf-80"$/],
  ['x'.repeat(100), /not "x{40}"$/],
])('another charset gets a 415 that names it: %s', (charset, message) => {
  const wire = post(PLANT, { 'Content-Type': `application/json; charset=${charset}` })
  return rejects(server, wire, 41500, { headers: ACCEPT, message })
})

const parameters = ['', '; charset', '; charset=""', ';a="b', '; CHARSET = "utf\\-8" ;', '; a="b;charset=latin1";c']
test.each([...parameters, `; a=${SPACES}b; charset=utf8;v=1`])(
  'a media type is JSON in UTF-8: with the parameters $0',
  (text) => accepts(server, post(PLANT, { 'Content-Type': `Application/JSON${text}` })),
)

test('a byte order mark is skipped', () => accepts(server, post(`\ufeff${PLANT}`), { body: '{"name":"ü"}' }))

test.each(['gzip', 'tea'])('the content coding %s gets a 415 with Accept-Encoding', (coding) =>
  rejects(server, post(PLANT, { 'Content-Encoding': coding }), 41500, { headers: { 'Accept-Encoding': 'identity' } }),
)

test('the content coding identity is accepted', () => accepts(server, post(PLANT, { 'Content-Encoding': 'identity' })))

test.each([
  // Others respond 406. JSON is all there is.
  ['Accept', 'application/xml, application/json;q=0'],
  ['Accept', ',;='],
  ['If-None-Match', '*'],
  ['Range', 'bytes=0-0'],
  ['Accept-Encoding', 'gzip, br, zstd, deflate'],
])('ignored: %s: %s', (name = '', value = '') =>
  accepts(server, get('/plants', { [name]: value }), {
    headers: { 'Content-Type': 'application/json; charset=utf-8', 'Content-Range': null, 'Content-Encoding': null },
    body: /^\[.*\]$/,
  }),
)

test.each([
  ...['a.b_C-1', 'Root=1-67891233-abcdef012345678912345678', '7F000001:D4C6_7F000001:1F90_65A1B2C3_0001:2F3A'],
  ...['SGVsbG8+d29ybGQ/Zm9v==', `${'x'.repeat(127)}~`],
])('X-Request-Id %s is kept, also by failures', async (id) => {
  await accepts(server, get('/plants', { 'X-Request-Id': id }), { headers: { 'X-Request-Id': id } })
  await rejects(server, get('/nowhere', { 'X-Request-Id': id }), 40400, { headers: { 'X-Request-Id': id } })
})

test.each(['a b', 'a\tb', 'x'.repeat(129), 'café', 'a-pst_b', ''])('X-Request-Id %s is replaced', (id) =>
  accepts(server, get('/plants', { 'X-Request-Id': id }), { headers: { 'X-Request-Id': /^[\da-f-]{36}$/ } }),
)

test('with CORS_ORIGINS a preflight gets a 204 without a token, and may send any header', async () => {
  const headers = { origin: ORIGIN, ...PREFLIGHT }
  const response = await allowing.call('/plants', { method: 'OPTIONS', token: null, headers })
  expect(response.status).toBe(204)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'access-control-allow-origin': ORIGIN,
    'access-control-allow-methods': [...METHODS].sort().join(),
    'access-control-allow-headers': HEADERS,
    'access-control-max-age': '600',
    vary: 'Origin, Access-Control-Request-Headers',
  })
})

test.each([
  [ORIGIN, '/plants', 200],
  [APP, '/plants', 200],
  [ORIGIN, '/nothing', 404],
])('with CORS_ORIGINS a page of %s can read the response to %s', async (origin, path, status) => {
  const response = await allowing.call(path, { headers: { origin } })
  const headers = Object.fromEntries(response.headers)
  expect([response.status, headers['access-control-allow-origin']]).toEqual([status, origin])
  expect(headers['access-control-expose-headers']).toMatch(/^Link,.*Retry-After,.*X-Request-Id/)
  expect(headers).not.toHaveProperty('access-control-allow-credentials')
})

const otherOrigins = ['https://evil.example', 'null', `${ORIGIN}.evil.example`, 'http://app.example.com']
test.each(otherOrigins)('with CORS_ORIGINS the origin %s gets no CORS headers', async (origin) => {
  const { headers } = await allowing.call('/plants', { method: 'OPTIONS', headers: { origin, ...PREFLIGHT } })
  expect(headers.get('access-control-allow-origin')).toBeNull()
})
