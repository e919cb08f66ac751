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
const allowing = await startTestServer({ corsOrigins: [ORIGIN, 'http://localhost:5173'] })

// What `responds` expects of all responses; these are of every kind.
const headers = { Origin: 'https://evil.example' }
const preflight = { ...NO_TOKEN, ...headers, 'Access-Control-Request-Method': 'POST' }
test.each<[string, string, number]>([
  ['a list', get('/plants', headers), 200],
  ['a page', get('/plants?limit=1', headers), 200],
  ['a plant', post('{"id":49001,"name":"Ficus"}', headers), 200],
  ['OPTIONS', request({ method: 'OPTIONS', headers }), 204],
  ['a preflight', request({ method: 'OPTIONS', headers: preflight }), 204],
  ['a failure of the app', get('/nowhere', { Origin: 'null' }), 404],
  ['a failure of the parser', 'no request\r\n\r\n', 400],
])('a response is private, inert and without CORS headers: %s', (_what, wire, status) =>
  responds(server, wire, { status }),
)

const rejected = [
  ...[null, '', 'json', 'text/plain', 'application/jsonp', 'application/problem+json', 'application/json;;;'],
  ...['application/json, application/json', `application/json${' '.repeat(10_000)}x`],
  ...['utf-16', 'latin1', ''].map((charset) => `application/json; charset=${charset}`),
].map((type): [title: string, type: string | null] => [String(type).slice(0, 50), type])
test.each(rejected)('the media type %s gets a 415 with Accept', (_, type) =>
  rejects(server, post(PLANT, { 'Content-Type': type }), 41500, { headers: { Accept: 'application/json' } }),
)

const accepted = ['APPLICATION/JSON;', 'application/json ; charset=utf-8', 'application/json;charset="UTF-8"']
test.each(accepted)('the media type %s is JSON, and allows a byte order mark', async (type) => {
  for (const mark of ['', '\ufeff']) {
    await accepts(server, post(mark + PLANT, { 'Content-Type': type }), { body: '{"name":"ü"}' })
  }
})

test.each(['gzip', 'zstd', 'gzip, gzip', 'tea'])('the content coding %s gets a 415 with Accept-Encoding', (coding) =>
  rejects(server, post(PLANT, { 'Content-Encoding': coding }), 41500, { headers: { 'Accept-Encoding': 'identity' } }),
)

test('the content coding identity is accepted', () => accepts(server, post(PLANT, { 'Content-Encoding': 'identity' })))

// Others respond 406. JSON is all there is.
const types = ['application/xml', '*/*;q=0', 'application/json;q=0', 'junk', ',;=', 'text/html, */*']
test.each([
  ...types.map((type) => ['Accept', type]),
  ['If-None-Match', '*'],
  ['Range', 'bytes=0-0'],
  ['Accept-Encoding', 'gzip, br, zstd, deflate'],
])('ignored: %s: %s', (name = '', value = '') =>
  accepts(server, get('/plants', { [name]: value }), {
    headers: { 'Content-Type': 'application/json; charset=utf-8', 'Content-Range': null, 'Content-Encoding': null },
    body: /^\[.*\]$/,
  }),
)

test('ignored: If-None-Match without a token, which gets a 401', () =>
  rejects(server, get('/plants', { 'If-None-Match': '*', ...NO_TOKEN }), 40101))

const NAME = '{"name":"a\\r\\nX-Evil: 1\\r\\n\\r\\n"}'
test.each<[string, string, number]>([
  ['a name', post(NAME.replace('{', '{"id":53001,')), 200],
  ['a query', get('/plants?limit=1&x=%0d%0aX-Evil:%201'), 200],
  ['a cursor', get('/plants?limit=1&cursor=%0d%0aX-Evil:%201'), 400],
])('line ends in %s do not become headers', (_where, wire, status) =>
  responds(server, wire, { status, headers: { 'X-Evil': null } }),
)

test.each(['a.b_C-1', 'abc-1.2_3'])('X-Request-Id %s is kept, also by failures', async (id) => {
  await accepts(server, get('/plants', { 'X-Request-Id': id }), { headers: { 'X-Request-Id': id } })
  await rejects(server, get('/nowhere', { 'X-Request-Id': id }), 40400, { headers: { 'X-Request-Id': id } })
})

test.each(['a b', 'a;b', '<script>', '\xfc', 'x'.repeat(65), ''])('X-Request-Id %s is replaced', (id) =>
  accepts(server, get('/plants', { 'X-Request-Id': id }), { headers: { 'X-Request-Id': /^[\da-f-]{36}$/ } }),
)

const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
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
      'access-control-allow-headers': expect.stringContaining('Authorization,Content-Type'),
      'access-control-max-age': '600',
      vary: 'Origin',
    },
  ],
  ['the page can read a success', '/plants', { headers: { origin: ORIGIN } }, 200, readable],
  ['the page can read a 401', '/plants', { token: null, headers: { origin: ORIGIN } }, 401, readable],
  ['the page can read a 404', '/nothing', { headers: { origin: ORIGIN } }, 404, readable],
])('with CORS_ORIGINS %s', async (_what, path, options, status, expected) => {
  const response = await allowing.call(path, options)
  expect(response.status).toBe(status)
  const headers = Object.fromEntries(response.headers)
  expect(headers).toMatchObject({ 'access-control-allow-origin': ORIGIN, ...expected })
  expect(headers).not.toHaveProperty('access-control-allow-credentials')
})

const otherOrigins = ['https://evil.example', 'null', `${ORIGIN}.evil.example`, 'http://app.example.com']
test.each(otherOrigins)('with CORS_ORIGINS the origin %s gets no CORS headers', async (origin) => {
  const { headers } = await allowing.call('/plants', { method: 'OPTIONS', headers: { origin, ...asked } })
  expect(headers.get('access-control-allow-origin')).toBeNull()
})
