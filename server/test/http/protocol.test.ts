/** What is HTTP and what is not: framing, versions, expectations, sizes, several requests before the first response. */
import pino from 'pino'
import { afterAll, expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { generateToken } from '../../src/accounts/tokens.ts'
import { get, KEEP_ALIVE, NO_TOKEN, post, postHead, request } from '../helpers/wire/requests.ts'
import { accepts, type Expected, rejects, responds, send } from '../helpers/wire/wire.ts'

/** Every response that is counted says so. */
const LIMITED = { rateLimit: { requests: 10_000, seconds: 60 } }
const CLOSED = { headers: { Connection: 'close' } }
/** A body that would be a plant. */
const CHUNKS = '17\r\n{"id":1,"name":"Ficus"}\r\n0\r\n\r\n'

const warnings: string[] = []
const logger = pino({ level: 'warn' }, { write: (line) => warnings.push(line) })
const server = await startTestServer(LIMITED, { logger })
afterAll(async () => {
  await server.close()
  expect(warnings, 'a mistake of a client is not one of the server').toEqual([])
})

/** Builds a request with other lines in its head, and then its body. */
function framed(lines: string, body = '{}'): string {
  return `${postHead().replace('\r\n\r\n', `\r\n${lines}\r\n\r\n`)}${body}`
}

test.each([
  ['Content-Length and Transfer-Encoding', framed('Content-Length: 5\r\nTransfer-Encoding: chunked')],
  ['two values of Content-Length', framed('Content-Length: 2\r\nContent-Length: 3')],
  ['a duplicate Content-Length', framed('Content-Length: 2\r\nContent-Length: 2')],
  ['Content-Length: +2', framed('Content-Length: +2')],
  ['Content-Length: 2, 2', framed('Content-Length: 2, 2')],
  // Others respond 501 to an unknown transfer coding. To the client it is one more thing to fix.
  ['Transfer-Encoding: foo', framed('Transfer-Encoding: foo', CHUNKS)],
  ['Transfer-Encoding: chunked, foo', framed('Transfer-Encoding: chunked, foo', CHUNKS)],
  ['a duplicate Transfer-Encoding', framed('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', CHUNKS)],
  ['Transfer-Encoding in HTTP/1.0', framed('Transfer-Encoding: chunked', CHUNKS).replace('HTTP/1.1', 'HTTP/1.0')],
  ['a chunk without a size', framed('Transfer-Encoding: chunked', 'zz\r\n')],
  ['a folded header', framed('X: a\r\n b')],
  ['a space before the colon', framed('X : a')],
  ['no colon', framed('X')],
  ['lines that end with LF only', get().replaceAll('\r\n', '\n')],
  ['a bare CR', framed('X: a\rb')],
  ['NUL in a value', framed('X: a\0b')],
  ['no Host', get('/plants', { ...KEEP_ALIVE, Host: null })],
  ['no Host, with an absolute target', get('http://plants.example.com/plants', { Host: null })],
  ['a duplicate Host', get('/plants', { ...KEEP_ALIVE, Host: ['a', 'a'] })],
])('%s gets a 400, and the connection is closed', (_what, wire) => rejects(server, wire, 40000, CLOSED))

test.each(['', 'a b', 'user@a', '[::1'])('Host: "%s" is used for nothing, and accepted', (host) =>
  accepts(server, get('/plants', { Host: host })),
)

test.each(['http://a/plants', 'https://[::1]:80/plants?limit=1', 'HTTP://A:/plants'])('%s is accepted', (target) =>
  accepts(server, get(target)),
)

test.each(['http://', 'http:///plants', 'http://:80/plants', 'ftp://a/plants', 'http://user@a/nowhere'])(
  'the target %s gets an Error body, or what its path gets',
  async (target) => {
    const [response] = await send(server, get(target))
    expect([200, 400, 404]).toContain(response?.status)
  },
)

test('HTTP/1.0 is served', () =>
  accepts(server, request({ method: 'GET', version: 'HTTP/1.0', headers: { Host: null } })))

test.each([
  ...['HTTP/2.0', 'HTTP/1.2'].map((version) => [version, request({ method: 'GET', version })]),
  ['HTTP/0.9', 'GET /plants\r\n\r\n'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
])('%s is rejected', (_what, wire = '') => rejects(server, wire, 40000))

test('an upgrade is ignored', () =>
  accepts(server, get('/plants', { Upgrade: 'websocket', Connection: 'close, Upgrade' })))

const EXPECTS = { Expect: '100-continue' }

test('100-continue is confirmed before the body is read', () =>
  responds(server, post('{"id":20001,"name":"Ficus"}', { Expect: '100-Continue' }), { status: 100 }, { status: 200 }))

test.each([
  ['an unknown token', { Authorization: `Bearer ${generateToken()}`, 'Content-Length': '30' }, 40102],
  ['a body that is too large', { 'Content-Length': String(2 ** 20 + 1) }, 41300],
])('100-continue with %s is rejected without a 100', (_what, headers, error) =>
  rejects(server, postHead({ ...EXPECTS, ...headers }), error, CLOSED),
)

test('100-continue of GET gets no 100', () => accepts(server, get('/plants', EXPECTS)))

test('100-continue of HTTP/1.0 gets no 100, which the client would take for the response', () =>
  accepts(server, request({ version: 'HTTP/1.0', headers: EXPECTS, body: '{"id":20002,"name":"Ficus"}' })))

test.each([
  ['POST', post('{}', { ...KEEP_ALIVE, Expect: 'tea' })],
  ['GET', get('/plants', { Expect: 'tea' })],
  ['GET, next to 100-continue', get('/plants', { Expect: '100-continue, tea' })],
])('another expectation of %s gets a 417', (_what, wire) => rejects(server, wire, 41700))

// A long target, too, where others respond 414: the parser counts it with the headers.
test.each([
  ['a header of 20 kB', get('/plants', { ...KEEP_ALIVE, X: 'x'.repeat(20_000) })],
  ['a target of 20 kB', get(`/plants?${'x'.repeat(20_000)}`, KEEP_ALIVE)],
  ['2100 headers', get('/plants', { X: Array(2100).fill('') }).replaceAll('X: ', 'X:')],
  ['headers that do not end', `GET /plants HTTP/1.1\r\n${'X: x\r\n'.repeat(50_000)}`],
])('a head that is too large gets a 431: %s', (_what, wire) => rejects(server, wire, 43100))

const OPEN = { Connection: 'keep-alive' }
const REJECTED = { ...KEEP_ALIVE, Authorization: null }

function postPlant(id: number): string {
  return post(`{"id":${id},"name":"plant ${id}"}`, KEEP_ALIVE)
}

const next = { status: 200, ...CLOSED }
test.each<[what: string, wire: string, ...expected: Expected[]]>([
  [
    'an invalid request between valid ones is one response',
    postPlant(1) + post('{', KEEP_ALIVE) + get(),
    { status: 200, headers: OPEN },
    { status: 400, error: 40001, headers: OPEN },
    next,
  ],
  ...[
    ['a lot of garbage', 'garbage\r\n\r\n'.repeat(20_000)],
    ['a body instead of chunks', `${postHead({ 'Transfer-Encoding': 'chunked' })}{"id":3,"name":"plant 3"}`],
  ].map(([what, wire]): [string, string, ...Expected[]] => [
    `${what} after two requests gets a 400 after their responses`,
    `${postPlant(1)}${postPlant(2)}${wire}`,
    { status: 200, body: '{"name":"plant 1"}' },
    { status: 200, body: '{"name":"plant 2"}' },
    { status: 400, error: 40000, ...CLOSED },
  ]),
  ['a rejected request that closes the connection is the last one', get('/nowhere') + get(), { status: 404 }],
  [
    'a rejected request has a small body that is skipped, and not read as a request',
    request({ headers: REJECTED, body: get('/plants', NO_TOKEN) }) + get(),
    { status: 401, headers: OPEN },
    next,
  ],
  [
    'a rejected request keeps the connection if its large body has arrived',
    post('x'.repeat(70_000), KEEP_ALIVE) + get(),
    { status: 400, error: 40001, headers: OPEN },
    next,
  ],
  [
    'a rejected request with a large body closes the connection',
    request({ headers: REJECTED, body: get('/plants', NO_TOKEN).padEnd(65 * 1024) }) + get(),
    { status: 401, ...CLOSED },
  ],
  [
    'a rejected request with chunks closes the connection',
    request({ headers: { ...REJECTED, 'Transfer-Encoding': 'chunked' } }) + CHUNKS + get(),
    { status: 401, ...CLOSED },
  ],
  [
    'all pipelined requests are handled, in their order',
    Array.from({ length: 120 }, (_, index) => postPlant(100 + index)).join('') + get(),
    ...Array.from({ length: 120 }, (_, index) => ({
      status: 200,
      headers: OPEN,
      body: `{"name":"plant ${100 + index}"}`,
    })),
    next,
  ],
])('%s', (_what, wire, ...expected) => responds(server, wire, ...expected))
