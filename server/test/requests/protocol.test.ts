/**
 * What is HTTP and what is not: framing, versions, expectations, sizes, what follows a
 * rejection, half-closed connections.
 */
import pino from 'pino'
import { afterAll, expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { generateToken } from '../../src/accounts/tokens.ts'
import { exchange, readResponses, type WireResponse } from '../helpers/connection.ts'
import { addLongList } from '../helpers/hostile-clients.ts'
import { createPlant, get, KEEP_ALIVE, NO_TOKEN, post, postHead, request, withToken } from '../helpers/requests.ts'
import { accepts, rejects, responds, send } from '../helpers/wire.ts'

const CLOSED = { headers: { Connection: 'close' } }
/** A body that would be a plant. */
const CHUNKS = '17\r\n{"id":1,"name":"Ficus"}\r\n0\r\n\r\n'

const warnings: string[] = []
const logger = pino({ level: 'warn' }, { write: (line) => warnings.push(line) })
// Every response that is counted says so.
const server = await startTestServer({ adminPort: 0, rateLimit: { requests: 10_000, seconds: 60 } }, { logger })
/** What must not be stored behind the last request of a connection. */
const BEHIND = createPlant('<token>', 30001)
afterAll(async () => {
  expect(await (await server.call('/plants')).text()).not.toContain('plant 30001')
  await server.close()
  expect(warnings, 'a mistake of a client is not one of the server').toEqual([])
})

/** Builds a request with other lines in its head, and then its body. */
function framed(lines: string, body = '{}'): string {
  return `${postHead().replace('\r\n\r\n', `\r\n${lines}\r\n\r\n`)}${body}`
}

test.each([
  ['Content-Length and Transfer-Encoding', framed('Content-Length: 5\r\nTransfer-Encoding: chunked')],
  // Others respond 501 to an unknown transfer coding. To the client it is one more thing to fix.
  ['Transfer-Encoding: foo', framed('Transfer-Encoding: foo', CHUNKS)],
  ['Transfer-Encoding: chunked, foo', framed('Transfer-Encoding: chunked, foo', CHUNKS)],
  ['a duplicate Transfer-Encoding', framed('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', CHUNKS)],
  ['Transfer-Encoding in HTTP/1.0', framed('Transfer-Encoding: chunked', CHUNKS).replace('HTTP/1.1', 'HTTP/1.0')],
  ['a chunk without a size', framed('Transfer-Encoding: chunked', 'zz\r\n')],
  ['no Host', get('/plants', { ...KEEP_ALIVE, Host: null })],
  ['no Host, with an absolute target', get('http://plants.example.com/plants', { Host: null })],
  ['a duplicate Host', get('/plants', { ...KEEP_ALIVE, Host: ['a', 'a'] })],
  ['HTTP/2.0', request({ method: 'GET', version: 'HTTP/2.0' })],
  ['HTTP/1.2', request({ method: 'GET', version: 'HTTP/1.2' })],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['a target without a host', get('http://')],
])('%s gets a 400, and the connection is closed: nothing behind it is handled', (_what, wire) =>
  rejects(server, wire + BEHIND, 40000, CLOSED),
)

test('CONNECT closes the connection, and nothing else of it is handled', async () => {
  const connect = request({ method: 'CONNECT', target: 'example.com:443', headers: KEEP_ALIVE })
  for (const wire of [connect, connect + get()]) expect(await exchange(server.url, wire)).toBe('')
})

const EXPECTS = { Expect: '100-continue' }
const UPGRADE = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQAAP__' }
const WEBSOCKET = { Connection: 'keep-alive, Upgrade', Upgrade: 'websocket' }
const CHUNKED = { ...UPGRADE, 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }

// Others switch the protocol, or respond on the same connection: Node.js loses what follows in the same packet.
test.each([
  ['a GET', get('/plants', UPGRADE), 200],
  ['a GET of HTTP/1.0', request({ method: 'GET', version: 'HTTP/1.0', headers: WEBSOCKET }), 200],
  ['a POST', post('{"id":20003,"name":"Ficus"}', UPGRADE), 200],
  ['a POST in chunks', request({ headers: CHUNKED }) + CHUNKS.replace('17', '1b').replace('1,', '20005,'), 200],
])('%s that asks for another protocol is the last request of its connection', async (_what, wire, status) => {
  // Also where the one behind it is cut.
  for (const behind of [BEHIND, `${postHead({ 'Content-Length': '1000' })}{`]) {
    const responses = await send(server, wire + behind)
    expect(responses.map((each) => [each.status, each.headers.get('connection')])).toEqual([[status, 'close']])
  }
})

test.each([
  // The host is used for nothing.
  ...['', 'a b', 'user@a', '[::1]'].map((host) => [`Host: "${host}"`, get('/plants', { Host: host })]),
  ...['http://a/plants', 'https://[::1]:80/plants?limit=1', 'HTTP://A:/plants'].map((target) => [target, get(target)]),
  ...['http:///plants', 'http://:80/plants', 'ftp://a/plants'].map((target) => [target, get(target)]),
  ['HTTP/1.0', request({ method: 'GET', version: 'HTTP/1.0', headers: { Host: null } })],
  ['an upgrade, which is ignored', get('/plants', { Upgrade: 'websocket', Connection: 'close, Upgrade' })],
  ['100-continue of GET, without a 100', get('/plants', EXPECTS)],
  // The client would take a 100 for the response.
  ['100-continue of HTTP/1.0', request({ version: 'HTTP/1.0', headers: EXPECTS, body: '{"id":20002,"name":"Ficus"}' })],
])('%s is accepted', (_what, wire = '') => accepts(server, wire))

test('100-continue is confirmed before the body is read', () =>
  responds(server, post('{"id":20001,"name":"Ficus"}', { Expect: '100-Continue' }), { status: 100 }, { status: 200 }))

test.each<[what: string, wire: string, error: number, closed?: typeof CLOSED]>([
  [
    '100-continue with an unknown token',
    postHead({ ...EXPECTS, Authorization: `Bearer ${generateToken()}`, 'Content-Length': '30' }),
    40102,
    CLOSED,
  ],
  ['100-continue with a large body', postHead({ ...EXPECTS, 'Content-Length': String(2 ** 20 + 1) }), 41300, CLOSED],
  ['a header of 20 kB', get('/plants', { ...KEEP_ALIVE, X: 'x'.repeat(20_000) }), 43100],
  // Others respond 414: the parser counts it with the headers.
  ['a target of 20 kB', get(`/plants?${'x'.repeat(20_000)}`, KEEP_ALIVE), 43100],
  ['2100 headers', get('/plants', { X: Array(2100).fill('') }).replaceAll('X: ', 'X:'), 43100],
  ['headers that do not end', `GET /plants HTTP/1.1\r\n${'X: x\r\n'.repeat(50_000)}`, 43100],
])('%s is rejected', (_what, wire, error, expected) => rejects(server, wire, error, expected))

const REJECTED = { ...KEEP_ALIVE, ...NO_TOKEN }

// The last request of each closes the connection, if one before it does not.
test.each<[what: string, wire: string, ...responses: string[]]>([
  ['a rejected request that closes the connection is the last one', get('/nowhere') + get(), '40400 close'],
  [
    'a rejected request has a small body that is skipped, and not read as a request',
    request({ headers: REJECTED, body: get('/plants', NO_TOKEN) }) + get(),
    ...['40101 keep-alive', '200 close'],
  ],
  [
    'a rejected request keeps the connection if its large body has arrived',
    post('x'.repeat(70_000), KEEP_ALIVE) + get(),
    ...['40001 keep-alive', '200 close'],
  ],
  [
    'a rejected request with a large body closes the connection',
    request({ headers: REJECTED, body: get('/plants', NO_TOKEN).padEnd(65 * 1024) }) + get(),
    '40101 close',
  ],
  [
    'a rejected request with chunks closes the connection',
    request({ headers: { ...REJECTED, 'Transfer-Encoding': 'chunked' } }) + CHUNKS + get(),
    '40101 close',
  ],
])('%s', async (_what, wire, ...expected) => {
  const responses = await send(server, wire)
  const described = responses.map(({ status, headers, body }) => {
    return `${JSON.parse(body).error ?? status} ${headers.get('connection')}`
  })
  expect(described).toEqual(expected)
})

// Clients that end their side of a connection after what they send, as `nc -N` and some proxies do.

/** Sends a request or several, ends this side of the connection, and reads until the server ends its own. */
async function sendAndEnd(wire: string, url = server.url): Promise<WireResponse[]> {
  return readResponses(await exchange(url, withToken(wire, server.token), true))
}

const IN_CHUNKS = postHead({ 'Transfer-Encoding': 'chunked' })
const CHUNK = '16\r\n{"id":4,"name":"four"}\r\n'

test.each([
  ['a POST that closes the connection', post('{"id":12,"name":"two"}'), [200]],
  ['a POST that expects 100', post('{"id":5,"name":"five"}', { ...KEEP_ALIVE, Expect: '100-continue' }), [100, 200]],
  ['half a head', postHead().slice(0, -2), [400]],
  ['half a body', createPlant('<token>', 200).slice(0, -3), [400]],
  ['half a body that asks for another protocol', `${postHead({ ...UPGRADE, 'Content-Length': '30' })}{`, [400]],
  ['chunks without their end', IN_CHUNKS + CHUNK, [400]],
  ['a request and half of another', createPlant('<token>', 201) + createPlant('<token>', 200).slice(0, -3), [200, 400]],
])('whole requests get responses, the rest a 400, and the connection ends: %s', async (_what, wire, expected) => {
  expect((await sendAndEnd(wire)).map(({ status }) => status)).toEqual(expected)
  expect(await (await server.call('/plants')).text()).not.toMatch(/plant 200/)
})

test('a list that is sent in pieces is whole, and has no body for HEAD', async () => {
  await addLongList(server.databaseUrl, 'alice', 4)
  const [response] = await sendAndEnd(get('/plants', KEEP_ALIVE))
  expect(JSON.parse(response?.body ?? '').length).toBeGreaterThan(4)
  expect(await (await server.call('/plants', { method: 'HEAD' })).text()).toBe('')
})

const probes = ['/livez?', '/readyz?verbose', '/metrics?x=1&x=%ff', 'http://localhost/livez', 'HTTP://[::1]:1/readyz?x']
test.each(probes)('the admin port responds to %s', async (target) => {
  const [response] = await sendAndEnd(get(target, { ...KEEP_ALIVE, Host: 'localhost' }), server.adminUrl)
  expect(response?.status).toBe(200)
})

test('a connection of the admin port has one request: what is pipelined behind it is neither handled nor kept', async () => {
  const wire = get('/metrics', KEEP_ALIVE).repeat(400)
  const responses = readResponses(await exchange(String(server.adminUrl), wire))
  expect(responses.map(({ status, headers }) => [status, headers.get('connection')])).toEqual([[200, 'close']])
})
