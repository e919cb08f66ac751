/** Which paths, methods and queries there are. */
import { contract } from '@plant-store/contract'
import { expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { get, NO_TOKEN, post, request } from '../helpers/wire/requests.ts'
import { accepts, rejects, responds, send } from '../helpers/wire/wire.ts'

const operations: { method: string; path: string }[] = Object.values(contract)
const methods = operations.filter(({ path }) => path === contract.getPlants.path).map(({ method }) => method)
const ALLOW = { Allow: [...methods, 'HEAD', 'OPTIONS'].sort().join(', ') }

const server = await startTestServer()
for (const id of [1, 2]) await server.post(`{"id":${id},"name":"Ficus"}`)

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
      // Each cursor is another text.
      return { ...response, headers: kept.map(([name, value]) => `${name}: ${value.replace(/cursor=[\w-]+/, '')}`) }
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

test('X-HTTP-Method-Override is ignored', () =>
  accepts(server, post('{"id":30001,"name":"Ficus"}', { 'X-HTTP-Method-Override': 'GET' }), { body: /^\{/ }))

const unknown = [
  ...['/', '/plants/', '/Plants', '//x/plants', '/plants%2f', '/x/../plants', '/plants%00', '/%', '/%ff', '/docs/'],
  ...[`/${'a'.repeat(10_000)}`, '/__proto__', '/<script>', '/livez', '/metrics', '/docs/..%2fapp.ts', '/\\plants'],
  // Paths are compared as they are written: another spelling is not a way around the token.
  '/%70lants',
]
// What an operation may take for its path parameter needs a token.
const isServed = (target: string) =>
  operations.some(({ path }) => new RegExp(`^${path.replace(/:\w+/g, '[^/?]+')}$`).test(target))

test.each(unknown.filter((path) => !isServed(path)))(
  '$0 responds 404, also without a token, and is not repeated',
  async (path) => {
    await rejects(server, get(path), 40400)
    const [response] = await send(server, get(path, NO_TOKEN))
    expect(JSON.parse(response?.body ?? '')).toMatchObject({ error: 40400 })
    if (path !== '/' && path !== '/%') expect(response?.body).not.toContain(path.slice(1))
  },
)

test.each([
  ['a target', get('http://evil.example/plants?limit=1')],
  ['a Host header', get('/plants?limit=1', { Host: 'evil.example' })],
])('another host in %s is served, and the host is used for nothing', (_where, wire) =>
  accepts(server, wire, { headers: { Link: /^<\?limit=1&cursor=[\w-]{48}>; rel="next"$/ } }),
)

test('another host needs a token, and a path', async () => {
  await rejects(server, get('http://evil.example/plants', NO_TOKEN), 40101)
  await rejects(server, get('http://evil.example'), 40400)
})

const ignored = [
  ...['?&&==&', '?__proto__[a]=1&__proto__=1&constructor=1', '?a=1&a=2', '?%&%ff', '??limit=x'],
  `?${'a&'.repeat(7_000)}`,
]
test.each(ignored)('unknown parameters are ignored: $0', (query) =>
  accepts(server, get(`/plants${query}`), { body: /^\[/ }),
)

const invalid = [
  ...['limit=0', 'limit=1001', 'limit=1e2', 'limit=', 'limit=1&limit=2', 'limit=x&'.repeat(900)],
  ...['cursor=', 'cursor=MQ&cursor=MQ', `cursor=${'a'.repeat(10_000)}`],
]
test.each(invalid)('$0 gets a 400 (40004) that names the parameter', (query) =>
  rejects(server, get(`/plants?${query}`), 40004, { message: query.startsWith('limit') ? /limit:/ : /cursor:/ }),
)
