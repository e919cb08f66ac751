/** What holds for HTTP as such: framing, versions, expectations, sizes, pipelining, shutdown. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { generateToken } from '../../src/accounts/token-format.ts'
import { readAnswers } from './answers.ts'
import { accepts, answers, get, post, type Row, refuses, request } from './row.ts'

const EXPECTING = { Expect: '100-continue' }
const KEPT = { Connection: null }
const CLOSED = { Connection: 'close' }
const ANOTHER_REQUEST = 'GET /plants HTTP/1.1\r\nHost: x\r\n\r\n'
/** A body that would be a plant. */
const CHUNKS = '17\r\n{"id":1,"name":"Ficus"}\r\n0\r\n\r\n'

export const protocol: readonly Row[] = [
  {
    number: 20,
    name: 'Expect',
    checks: [
      answers(
        'a body that may come is asked for',
        post('{"id":20001,"name":"Ficus"}', { ...EXPECTING, Expect: '100-Continue' }),
        { status: 100 },
        { status: 200 },
      ),
      refuses('not from a stranger', announced(`Bearer ${generateToken()}`, 30), 40102, CLOSED),
      refuses('not one that is too large', announced('Bearer <token>', 2 ** 20 + 1), 41300, CLOSED),
      accepts('not where none is taken', get('/plants', EXPECTING)),
      accepts(
        'not of HTTP/1.0, which takes it for the answer',
        request({ version: 'HTTP/1.0', headers: EXPECTING, body: '{"id":20002,"name":"Ficus"}' }),
      ),
      refuses('another expectation of POST', post('{}', { ...KEPT, Expect: 'tea' }), 41700),
      refuses('another expectation of GET', get('/plants', { Expect: 'tea' }), 41700),
      refuses('one more expectation', get('/plants', { Expect: '100-continue, tea' }), 41700),
    ],
  },
  {
    number: 21,
    name: 'framing and headers that two parsers may take for different things',
    checks: [
      refuses('Content-Length and Transfer-Encoding', framed('Content-Length: 5\r\nTransfer-Encoding: chunked'), 40000),
      refuses('two Content-Length', framed('Content-Length: 2\r\nContent-Length: 3'), 40000),
      refuses('the same Content-Length twice', framed('Content-Length: 2\r\nContent-Length: 2'), 40000),
      refuses('Content-Length: +2', framed('Content-Length: +2'), 40000),
      refuses('Content-Length: -2', framed('Content-Length: -2'), 40000),
      refuses('Content-Length: 0x2', framed('Content-Length: 0x2'), 40000),
      refuses('Content-Length: 2, 2', framed('Content-Length: 2, 2'), 40000),
      refuses('Transfer-Encoding: foo', framed('Transfer-Encoding: foo', CHUNKS), 40000),
      refuses('Transfer-Encoding: foo, chunked', framed('Transfer-Encoding: foo, chunked', CHUNKS), 40000),
      refuses('Transfer-Encoding: gzip, chunked', framed('Transfer-Encoding: gzip, chunked', CHUNKS), 40000),
      refuses('Transfer-Encoding: chunked, foo', framed('Transfer-Encoding: chunked, foo', CHUNKS), 40000),
      refuses(
        'Transfer-Encoding twice',
        framed('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', CHUNKS),
        40000,
      ),
      refuses(
        'Transfer-Encoding in HTTP/1.0',
        framed('Transfer-Encoding: chunked', CHUNKS).replace('HTTP/1.1', 'HTTP/1.0'),
        40000,
      ),
      refuses('a chunk without a size', framed('Transfer-Encoding: chunked', 'zz\r\n'), 40000),
      refuses('a folded header', framed('X: a\r\n b'), 40000),
      refuses('a space before the colon', framed('X : a'), 40000),
      refuses('a space in a name', framed('X Y: a'), 40000),
      refuses('no colon', framed('X'), 40000),
      refuses('lines that end with LF only', get().replaceAll('\r\n', '\n'), 40000),
      refuses('one line that ends with LF only', framed('X: a\nY: b'), 40000),
      refuses('a bare CR', framed('X: a\rb'), 40000),
      refuses('NUL in a value', framed('X: a\0b'), 40000),
    ].map((check) => ({ ...check, what: `${check.what} is refused and the connection closed` })),
  },
  {
    number: 22,
    name: 'no Host',
    checks: [
      refuses('in HTTP/1.1', get('/plants', { ...KEPT, Host: null }), 40000, CLOSED),
      refuses('not even with an absolute target', get('http://plants.example.com/plants', { Host: null }), 40000),
    ],
  },
  {
    number: 23,
    name: 'two Host headers',
    checks: [
      refuses('different', get('/plants', { ...KEPT, Host: ['a', 'b'] }), 40000, CLOSED),
      refuses('the same', get('/plants', { ...KEPT, Host: ['a', 'a'] }), 40000, CLOSED),
    ],
  },
  {
    number: 24,
    name: 'versions of HTTP',
    checks: [
      accepts('1.0', request({ method: 'GET', version: 'HTTP/1.0', headers: { Host: null } })),
      refuses('2.0', request({ method: 'GET', version: 'HTTP/2.0' }), 50500),
      refuses('0.9', 'GET /plants\r\n\r\n', 50500),
      refuses('one that there is not', request({ method: 'GET', version: 'HTTP/1.2' }), 40000),
      refuses('the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 40000),
      refuses('TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 40000),
      refuses('something else', 'hello\r\n\r\n', 40000),
      accepts(
        'an offer to change is not taken up',
        get('/plants', { Upgrade: 'websocket', Connection: 'close, Upgrade' }),
      ),
    ],
  },
  {
    number: 25,
    name: 'large heads',
    checks: [
      refuses('a header of 20 kB', get('/plants', { ...KEPT, X: 'x'.repeat(20_000) }), 43100),
      refuses('a target of 20 kB', get(`/plants?${'x'.repeat(20_000)}`, KEPT), 43100),
      refuses('2100 headers', get('/plants', { X: Array(2100).fill('') }).replaceAll('X: ', 'X:'), 43100),
      refuses('endless headers', `GET /plants HTTP/1.1\r\n${'X: x\r\n'.repeat(50_000)}`, 43100),
    ],
  },
  { number: 54, name: 'slow callers', coveredBy: 'limits/overload.test.ts' },
  {
    number: 55,
    name: 'several requests at once on a connection, answered in their order',
    checks: [
      answers(
        'good, malformed, good',
        post('{"id":55001,"name":"Ficus"}', KEPT) + post('{', KEPT) + get(),
        { status: 200, headers: { Connection: 'keep-alive' } },
        { status: 400, error: 40001, headers: { Connection: 'keep-alive' } },
        { status: 200, headers: CLOSED },
      ),
      answers(
        'two good ones before something that is no request',
        `${post('{"id":55002,"name":"Ficus"}', KEPT)}${post('{"id":55003,"name":"Ficus"}', KEPT)}no request\r\n\r\n`,
        { status: 200, body: '{"name":"Ficus"}' },
        { status: 200, body: '{"name":"Ficus"}' },
        { status: 400, error: 40000, headers: CLOSED },
      ),
      answers(
        'a good one before one that breaks off in its body',
        post('{"id":55004,"name":"Ficus"}', KEPT) +
          request({ headers: { ...KEPT, 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' } }) +
          'zz\r\n',
        { status: 200 },
        { status: 400, error: 40000, headers: CLOSED },
      ),
      answers('nothing after one that ends the connection', get('/nowhere') + get(), { status: 404 }),
      answers(
        'a body that is not wanted is read to its end and is no request',
        request({ headers: { ...KEPT, Authorization: null }, body: ANOTHER_REQUEST }) + get(),
        { status: 401, headers: { Connection: 'keep-alive' } },
        { status: 200, headers: CLOSED },
      ),
      answers(
        'nothing after a large body that is not wanted',
        request({ headers: { ...KEPT, Authorization: null }, body: ANOTHER_REQUEST.padEnd(65 * 1024) }) + get(),
        { status: 401, headers: CLOSED },
      ),
      answers(
        'nothing after chunks that are not wanted',
        request({ headers: { ...KEPT, Authorization: null, 'Transfer-Encoding': 'chunked' } }) + CHUNKS + get(),
        { status: 401, headers: CLOSED },
      ),
    ],
  },
  {
    number: 57,
    name: 'a request under way at a shutdown',
    checks: [
      {
        what: 'it is answered in full, and nothing after it',
        async run() {
          await using server = await startTestServer()
          const { hostname, port } = new URL(server.url)
          const wire = post('{"id":57001,"name":"Ficus"}', { ...KEPT, ...EXPECTING }).replace('<token>', server.token)
          const socket = connect(Number(port), hostname).setEncoding('latin1')
          const head = wire.indexOf('\r\n\r\n') + 4
          socket.write(wire.slice(0, head))
          let text = String(await once(socket, 'data'))
          socket.on('data', (piece) => {
            text += piece
          })
          const [closing, closed] = [server.close(), once(socket, 'close')]
          socket.write(wire.slice(head))
          await Promise.all([closing, closed])
          expect(readAnswers(text).map(({ status }) => status)).toEqual([100, 200])
          await expect(fetch(server.url)).rejects.toThrow()
        },
      },
    ],
  },
]

/** A request that announces a body and waits to be asked for it. */
function announced(authorization: string, length: number): string {
  return request({
    headers: {
      ...KEPT,
      ...EXPECTING,
      Authorization: authorization,
      'Content-Type': 'application/json',
      'Content-Length': String(length),
    },
  })
}

/** A request with other lines in its head, that does not ask for the connection to be closed, and then its body. */
function framed(lines: string, body = '{}'): string {
  const head = request({ headers: { ...KEPT, 'Content-Type': 'application/json' } })
  return `${head.replace('\r\n\r\n', `\r\n${lines}\r\n\r\n`)}${body}`
}
