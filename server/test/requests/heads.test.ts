/**
 * Which paths, methods and queries there are, what the headers of requests change, and the headers that responses have.
 */
import { contract } from '@plant-store/contract'
import { expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { rejectInvalid } from '../../src/requests/errors.ts'
import { exchange, readResponses } from '../helpers/connection.ts'
import { get, NO_TOKEN, post, request, withToken } from '../helpers/requests.ts'
import { accepts, rejects, responds, send } from '../helpers/wire.ts'

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

const mediaTypes = ['', 'text/plain', 'application/jsonp', 'application/problem+json', `application/json${SPACES}x`]
const otherCharsets = ['utf-16', 'utf-80'].map((charset) => `application/json; charset=${charset}`)
test.each([null, ...mediaTypes, ...otherCharsets])(
  'a body that is not JSON in UTF-8 gets a 415 with Accept: $0',
  (type) =>
    rejects(server, post(PLANT, { 'Content-Type': type }), 41500, {
      headers: ACCEPT,
      message: /^Content-Type: must be application\/json, in UTF-8$/,
    }),
)

test.each([
  '',
  '; charset=""',
  ';a="b',
  '; CHARSET = "utf\\-8" ;',
  '; a="b;charset=latin1";c',
  `; a=${SPACES}b; charset=utf8`,
])('a media type is JSON in UTF-8: with the parameters $0', (text) =>
  accepts(server, post(PLANT, { 'Content-Type': `Application/JSON${text}` })),
)

test('a byte order mark is skipped', () => accepts(server, post(`\ufeff${PLANT}`), { body: '{"name":"ü"}' }))

test.each(['gzip', 'tea'])('the content coding %s gets a 415 with Accept-Encoding', (coding) =>
  rejects(server, post(PLANT, { 'Content-Encoding': coding }), 41500, { headers: { 'Accept-Encoding': 'identity' } }),
)

test.each(['', 'Identity', ['identity', 'identity'], 'identity , '])('the content coding %s is accepted', (coding) =>
  accepts(server, post(PLANT, { 'Content-Encoding': coding })),
)

/** Headers with two values, of which each is valid, and the second would change what the request means. */
const pairs: Record<string, [first: string, second: string]> = {
  Authorization: ['Bearer <token>', 'Bearer none'],
  'Content-Length': [String(Buffer.byteLength(PLANT)), '0'],
  'Content-Type': ['application/json', 'text/plain'],
  Host: ['plants.example.com', 'other.example.com'],
  Origin: [ORIGIN, APP],
  'Transfer-Encoding': ['chunked', 'gzip'],
  'X-Request-Id': ['a', 'b'],
}
const duplicates = Object.entries(pairs).flatMap(([name, [one, other]]) =>
  [
    [one, other],
    [other, one],
    [one, one],
  ].map((values) => [name, values] as const),
)
test.each(duplicates)('a second %s gets a 400, in either order: %j', (name, values) =>
  rejects(server, post(PLANT, { [name]: values }), 40000),
)

test.each([
  ['Content-Encoding', ['gzip', 'identity'], 41500],
  ['Content-Encoding', ['identity', 'gzip'], 41500],
  ['Expect', ['tea', '100-continue'], 41700],
  ['Expect', ['100-continue', 'tea'], 41700],
] as const)('of two headers %s, which HTTP joins, both count: %j', (name, values, error) =>
  rejects(server, post(PLANT, { [name]: values }), error),
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
  [200, ORIGIN, '/plants', {}],
  [404, ORIGIN, '/nothing', {}],
  [417, ORIGIN, '/plants', { Expect: 'tea' }],
  [431, ORIGIN, '/plants', { X: Array(1_000).fill('') }],
])('with CORS_ORIGINS a page can read the %d that %s gets from %s', async (status, origin, path, headers) => {
  const wire = withToken(get(path, { ...headers, Origin: origin }), allowing.token)
  const [response] = readResponses(await exchange(allowing.url, wire))
  expect([response?.status, response?.headers.get('access-control-allow-origin')]).toEqual([status, origin])
  expect(response?.headers.get('vary')).toBe(status === 200 ? 'Origin, Authorization' : 'Origin')
  expect(response?.headers.get('access-control-expose-headers')).toMatch(/Link,.*Retry-After,.*X-Request-Id/)
  expect(response?.headers.has('access-control-allow-credentials')).toBe(false)
})

test('with CORS_ORIGINS another origin gets no CORS headers', async () => {
  const origin = `${ORIGIN}.evil.example`
  const { headers } = await allowing.call('/plants', { method: 'OPTIONS', headers: { origin, ...PREFLIGHT } })
  expect(headers.get('access-control-allow-origin')).toBeNull()
})

const operations: { method: string; path: string }[] = Object.values(contract)
const methods = operations.filter(({ path }) => path === contract.getPlants.path).map(({ method }) => method)
const ALLOW = { Allow: [...methods, 'HEAD', 'OPTIONS'].sort().join(', ') }

for (const id of [11, 12]) await server.post(`{"id":${id},"name":"Ficus"}`)

const others = ['PUT', 'TRACE', 'PROPFIND'].filter((method) => !methods.includes(method))
test.each(others)('%s gets a 405 with Allow, before a token is asked for', (method) =>
  rejects(server, request({ method, headers: NO_TOKEN }), 40500, { headers: ALLOW }),
)

test.each([
  ['a page', '/plants?limit=1', {}],
  ['a failure', '/plants?limit=0', {}],
  ['a request without a token', '/plants', NO_TOKEN],
])('HEAD gets the status and headers that GET gets for %s', async (_what, target, headers) => {
  const [listed, head] = await Promise.all(
    ['GET', 'HEAD'].map(async (method) => {
      const [response] = await send(server, request({ method, target, headers: { ...headers, 'X-Request-Id': 'a' } }))
      // How a body is cut into chunks is only known once it is made (RFC 9110, section 9.3.2).
      const kept = [...(response?.headers ?? [])].filter(([name]) => !['date', 'transfer-encoding'].includes(name))
      return { ...response, headers: kept }
    }),
  )
  expect(head).toEqual({ ...listed, body: '', bodyless: true })
})

test.each<[string, string, Parameters<typeof responds>[2]]>([
  ['OPTIONS', '/plants', { status: 204, headers: ALLOW }],
  ['OPTIONS', '*', { status: 204 }],
  ['OPTIONS', '/nowhere', { status: 404, error: 40400 }],
  ['GET', '*', { status: 404, error: 40400 }],
])('%s of %s without a token', (method, target, expected) =>
  responds(server, request({ method, target, headers: NO_TOKEN }), expected),
)

const unknown = [
  ...['/', '/plants/', '/Plants', '//x/plants', '/plants%2f', '/x/../plants', '/plants%00', '/%', '/%ff', '/docs//'],
  ...['/openapi/json', '/openapi-json', '/docs/page/css'],
  ...[`/${'a'.repeat(10_000)}`, '/__proto__', '/<script>', '/livez', '/metrics', '/docs/..%2fapp.ts', '/\\plants'],
  // Paths are compared as they are written: another spelling is not a way around the token.
  '/%70lants',
]
// What an operation may take for its path parameter needs a token.
const isServed = (target: string) =>
  operations.some(({ path }) => new RegExp(`^${path.replace(/:\w+/g, '[^/?]+')}$`).test(target))

test.each(unknown.filter((path) => !isServed(path)))('$0 is a 404 without a token too, not repeated', async (path) => {
  await rejects(server, get(path), 40400)
  await rejects(server, request({ method: 'OPTIONS', target: path }), 40400)
  const [response] = await send(server, get(path, NO_TOKEN))
  expect(JSON.parse(response?.body ?? '')).toMatchObject({ error: 40400 })
  if (path !== '/' && path !== '/%') expect(response?.body).not.toContain(path.slice(1))
})

test.each([
  ['a target', get('http://evil.example/plants?limit=1')],
  ['a Host header', get('/plants?limit=1', { Host: 'evil.example' })],
])('another host in %s is served, and the host is used for nothing', (_where, wire) =>
  accepts(server, wire, { headers: { Link: /^<(\?limit=1&cursor=[\w-]{22})>; rel="next", <\1>; rel="end"$/ } }),
)

test('another host needs a token, and a path', async () => {
  await rejects(server, get('http://evil.example/plants', NO_TOKEN), 40101)
  await rejects(server, get('http://evil.example'), 40400)
})

test('a query has up to 1,000 parameters, of which none is dropped', async () => {
  const others = (count: number) => Array.from({ length: count }, (_, index) => `a${index}&`).join('')
  await accepts(server, get(`/plants?${others(999)}%6cimit=1`), { body: '[{"name":"Ficus"}]' })
  await rejects(server, get(`/plants?${others(1_000)}limit=1`), 40004, { message: /at most 1000 parameters/ })
})

const notText = ['%', '%f', '%zz', '%ff', '%c0%80', '%ed%a0%80', '%ed%a0%bd%ed%b2%a9', '%f4%90%80%80', '%e2%82']
test.each(notText.flatMap((text) => [`a=${text}`, text, `limit=1&${text}=1`, `cursor=${text}`]))(
  'a query that is not percent-encoded UTF-8 gets a 400 (40004): $0',
  (query) => rejects(server, get(`/plants?${query}`), 40004, { message: /^The query must be UTF-8/ }),
)

test('a query of an operation without parameters is not looked at', () =>
  accepts(server, request({ target: '/plants?%ff', body: '{"id":11,"name":"Ficus"}' })))

// The conformance suite of the client has the values that are invalid.
test.each(['limit=1&limit=2', 'limit=1e2', 'cursor=MQ&cursor=MQ'])('$0 gets a 400 (40004) that names it', (query) =>
  rejects(server, get(`/plants?${query}`), 40004, { message: query.startsWith('limit') ? /limit:/ : /cursor:/ }),
)

test('an invalid parameter of a path is a path that does not exist, also where the body is invalid', () => {
  const reject = () => rejectInvalid({ pathParams: { issues: [] }, body: { issues: [] } } as never, {} as never)
  expect(reject).toThrow(expect.objectContaining({ status: 404 }))
})
