import type { Random } from '../random.ts'
import { mutateBytes } from './mutate-body.ts'
import { inChunks, type RawRequest, writeHead, writeRequest } from './write-request.ts'

const METHODS = [
  'PUT',
  'PATCH',
  'DELETE',
  'TRACE',
  'OPTIONS',
  'HEAD',
  'CONNECT',
  'FOO',
  'get',
  '',
  'PRI',
  'QUERY',
  'GET',
]
const TARGETS = [
  ...['/', '*', '', '//plants', '/plants/', '/Plants', '/plants%00', '/%', '/%70lants', '/plants;a', '/./plants'],
  ...['http://other.test/plants', 'plants.test:80', '/plants#x', '/plants?', '/plants?a[__proto__]=1', '/__proto__'],
  ...['/plants?limit=0', '/plants?limit=1&limit=2', '/plants?cursor=%00', '/plants?cursor=-1', '/plants?limit=%'],
  ...[`/plants?x=${'y'.repeat(20_000)}`, `/plants?${'a=1&'.repeat(2_000)}`],
]
const VERSIONS = ['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/9.9', 'http/1.1', 'HTTP/1.1 ', 'HTTPS/1.1', '']
const HEADERS: [string, string][] = [
  ...[
    ['Host', 'other.test'],
    ['Authorization', 'Bearer x'],
    ['Content-Length', '5'],
    ['Content-Length', '-1'],
  ],
  ...[
    ['Content-Length', '99999999999999999999'],
    ['Content-Length', '1e3'],
    ['Content-Length', ' 7, 7'],
  ],
  ...[
    ['Transfer-Encoding', 'chunked'],
    ['Transfer-Encoding', 'gzip, chunked'],
    ['Transfer-Encoding', 'identity'],
  ],
  ...[
    ['Transfer-Encoding', '\u000bchunked'],
    ['Content-Type', 'text/plain'],
    ['Content-Encoding', 'gzip'],
  ],
  ...[
    ['Expect', '100-continue'],
    ['Expect', 'tea'],
    ['Connection', 'close'],
    ['Connection', 'Upgrade, keep-alive'],
  ],
  ...[
    ['Upgrade', 'websocket'],
    ['Upgrade', 'h2c'],
    ['__proto__', 'x'],
    ['constructor', 'x'],
    ['', 'x'],
    ['A B', 'x'],
  ],
  ...[
    ['X', 'a\r\n b'],
    ['X', 'a\nb'],
    ['X', 'a\0b'],
    ['X', '\u00ff'],
    ['X-Request-Id', 'a'.repeat(500)],
  ],
  ...[
    ['X', 'x'.repeat(20_000)],
    ['Range', 'bytes=0-1'],
    ['If-None-Match', '*'],
    ['X-HTTP-Method-Override', 'DELETE'],
  ],
] as [string, string][]
const CHUNKS = [
  'zz\r\n',
  '-1\r\nx\r\n',
  'ffffffffffffffffff\r\n',
  '5\r\nab\r\n',
  '1;a="b"\r\n{\r\n',
  '0\r\nX: y\r\n\r\n',
  '1\nx',
]

/** Mutates a request to bytes that are mostly not well-formed HTTP. Its body is unchanged or truncated. */
export function mutateHttp(random: Random, request: RawRequest): Buffer {
  const { headers, body } = request
  const at = random.integer(0, headers.length - 1)
  const [name, value] = headers[at] ?? ['X', 'y']
  const withHeader = (...changed: [string, string][]) =>
    writeRequest({ ...request, headers: headers.toSpliced(at, 1, ...changed) })
  return random.pick([
    () => withHeader(),
    () => withHeader([name, value], [name, value]),
    () => withHeader([name, value], random.pick(HEADERS)),
    () => withHeader([name, value], random.pick(HEADERS)),
    () => withHeader([name, mutateBytes(random, Buffer.from(value)).toString('latin1')]),
    () => withHeader(...Array<[string, string]>(random.integer(100, 2_500)).fill(['X', 'y'])),
    () => writeRequest({ ...request, method: random.pick(METHODS) }),
    () => writeRequest({ ...request, target: random.pick(TARGETS) }),
    () => writeRequest({ ...request, version: random.pick(VERSIONS) }),
    () => Buffer.concat([mutateBytes(random, writeHead(request)), body]),
    () => Buffer.concat([mutateBytes(random, writeHead(request)), body]),
    () => Buffer.from(writeRequest(request).toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
    () => Buffer.concat([Buffer.from('\r\n'.repeat(random.integer(1, 5))), writeRequest(request)]),
    () => writeRequest(request).subarray(0, random.integer(1, writeHead(request).length + body.length)),
    () => Buffer.concat([writeHead(inChunks(request, 9)), Buffer.from(random.pick(CHUNKS)), body]),
    () => Buffer.concat([writeRequest(request), writeRequest(request)]),
    () => Buffer.concat([writeRequest(request), mutateBytes(random, writeHead(request)), body]),
    () => Buffer.from(Array.from({ length: random.integer(1, 300) }, () => random.integer(0, 255))),
  ])()
}
