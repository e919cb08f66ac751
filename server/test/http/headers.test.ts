/** What the headers of requests change, and the headers that responses have. */
import { contract } from '@plant-store/contract'
import { expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { get, NO_TOKEN, post, request } from '../helpers/wire/requests.ts'
import { accepts, rejects, responds } from '../helpers/wire/wire.ts'

/** Every response that is counted says so. */
const LIMITED = { rateLimit: { requests: 10_000, seconds: 60 } }
const PLANT = '{"id":1,"name":"ü"}'

const server = await startTestServer(LIMITED)
const ORIGIN = 'https://app.example.com'
const APP = 'capacitor://localhost'
const allowing = await startTestServer({ corsOrigins: [ORIGIN, APP] })

// What `responds` expects of all responses; these are of every kind.
const headers = { Origin: 'https://evil.example' }
const preflight = { ...NO_TOKEN, ...headers, 'Access-Control-Request-Method': 'POST' }
test.each<[string, string, number]>([
  ['a list', get('/plants', headers), 200],
  ['a plant', post('{"id":49001,"name":"Ficus"}', headers), 200],
  ['a preflight', request({ method: 'OPTIONS', headers: preflight }), 204],
  ['a failure of the app', get('/nowhere', { Origin: 'null' }), 404],
  ['a failure of the parser', 'no request\r\n\r\n', 400],
])('a response is private, inert and without CORS headers: %s', (_what, wire, status) =>
  responds(server, wire, { status }),
)

const ACCEPT = { Accept: 'application/json' }
const SPACES = ' '.repeat(15_000)

/** Builds a request with a plant of a media type, after the part of it that a title shows. */
function withType(type: string): [title: string, wire: string] {
  return [type.slice(0, 60), post(PLANT, { 'Content-Type': type })]
}

test.each([
  ['none', post(PLANT, { 'Content-Type': null })],
  ...['', 'text/plain', 'application/jsonp', 'application/problem+json', `application/json${SPACES}x`].map(withType),
])('a media type that is not JSON gets a 415 with Accept: %s', (_title, wire) =>
  rejects(server, wire, 41500, { headers: ACCEPT, message: /: must be application\/json/ }),
)

test.each([
  ['utf-16', /UTF-8, not "utf-16"$/],
  ['"latin1"; charset=utf-8', /"latin1"$/],
  ['utf-80', /"utf-80"$/],
  ['x'.repeat(100), /not "x{40}"$/],
])('another charset gets a 415 that names it: %s', async (charset, message) => {
  const [, wire] = withType(`application/json; charset=${charset}`)
  await rejects(server, wire, 41500, { headers: ACCEPT, message })
})

test.each([
  ...['', '; charset', '; charset=""', ';a="b', '; CHARSET = "utf\\-8" ;', '; a="b;charset=latin1";c'].map((text) =>
    withType(`Application/JSON${text}`),
  ),
  withType(`application/json; a=${SPACES}b; charset=utf8;v=1`),
])('a media type is JSON in UTF-8, whatever its parameters: %s', (_title, wire) => accepts(server, wire))

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

test('X-Request-Id is kept, also by failures', async () => {
  const id = 'a.b_C-1'
  await accepts(server, get('/plants', { 'X-Request-Id': id }), { headers: { 'X-Request-Id': id } })
  await rejects(server, get('/nowhere', { 'X-Request-Id': id }), 40400, { headers: { 'X-Request-Id': id } })
})

test.each(['<script>', 'x'.repeat(65), ''])('X-Request-Id %s is replaced', (id) =>
  accepts(server, get('/plants', { 'X-Request-Id': id }), { headers: { 'X-Request-Id': /^[\da-f-]{36}$/ } }),
)

const HEADERS = 'authorization,baggage,content-type,traceparent,x-anything'
const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': HEADERS }
const methods = new Set(['HEAD', ...Object.values(contract).map(({ method }) => method)])
const readable = { 'access-control-expose-headers': expect.stringMatching(/^Link,.*Retry-After,.*X-Request-Id/) }
test.each<[what: string, path: string, options: object, status: number, headers: Record<string, unknown>]>([
  [
    'a preflight gets a 204 without a token',
    '/plants',
    { method: 'OPTIONS', token: null, headers: { origin: ORIGIN, ...asked } },
    204,
    {
      'access-control-allow-methods': [...methods].sort().join(),
      'access-control-allow-headers': HEADERS,
      'access-control-max-age': '600',
      vary: 'Origin, Access-Control-Request-Headers',
    },
  ],
  ['the page can read a success', '/plants', { headers: { origin: ORIGIN } }, 200, readable],
  ['the page can read a 404', '/nothing', { headers: { origin: ORIGIN } }, 404, readable],
])('with CORS_ORIGINS %s', async (_what, path, options, status, expected) => {
  const response = await allowing.call(path, options)
  expect(response.status).toBe(status)
  const headers = Object.fromEntries(response.headers)
  expect(headers).toMatchObject({ 'access-control-allow-origin': ORIGIN, ...expected })
  expect(headers).not.toHaveProperty('access-control-allow-credentials')
})

test('with CORS_ORIGINS an app of another scheme can read a response', async () => {
  const { headers } = await allowing.call('/plants', { headers: { origin: APP } })
  expect(headers.get('access-control-allow-origin')).toBe(APP)
})

const otherOrigins = ['https://evil.example', 'null', `${ORIGIN}.evil.example`, 'http://app.example.com']
test.each(otherOrigins)('with CORS_ORIGINS the origin %s gets no CORS headers', async (origin) => {
  const { headers } = await allowing.call('/plants', { method: 'OPTIONS', headers: { origin, ...asked } })
  expect(headers.get('access-control-allow-origin')).toBeNull()
})
