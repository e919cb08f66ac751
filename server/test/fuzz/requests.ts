/** Requests of all kinds: plants as JSON in many spellings, and mutations of bodies and of HTTP. */
import fc from 'fast-check'
import { codePoint } from '../../../test/helpers/code-points.ts'

/** A plant as a client means it. */
export interface ModelPlant {
  id: bigint
  name: string
  tag?: string | undefined
}

/** The parts of a request. */
export interface RawRequest {
  method: string
  target: string
  version: string
  headers: [name: string, value: string][]
  body: Buffer
}

type ValueOf<Values> = Values extends fc.Arbitrary<infer Value> ? Value : never

const IDS = [0n, 1n, -1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n), 10n ** 18n]
const FRAGMENTS = ['a', 'Ficus ', '"', '\\', '/', '\b\n\t', '\u007f', 'é', 'e\u0301', '龟', '\u2028', '\ufeff', '🪴']
const EXTRAS = ['"x":null', '"__proto__":{"id":1}', '"n":{"id":[1,{"id":2}]}', '"ID":7', '"":1e400', '"a":"\\ud800"']
const KEYS = ['id', 'name', 'tag', 'Id', 'x', '', '__proto__', 'constructor', 'toString']
const VALUES = [
  ...['null', 'true', '[]', '{}', '""', '"1"', '5', '-1', '0', '-0', '1.5', '1.0', '1e2', '1e-2', '100e-2', '1E+2'],
  ...['9223372036854775807', '9223372036854775808', '-9223372036854775808', '-9223372036854775809', '1e400', '1e19'],
  ...['9007199254740993', '9007199254740993.0', '0.000000000000000000001', '1.00000000000000000001', '0e99999999999'],
  ...['1e99999999999', '1e-99999999999', '"\\u0000"', '"\\ud800"', '"\\udfff x"', '"🪴"'],
  ...['[5]', '{"id":1}', '01', '.5'],
]
/** What parsers are likely to misread. */
const PIECES: (string | number[])[] = [
  ...['"', '\\', '{', '}', '[', ']', ',', ':', '-', '+', '.', 'e', '0', ' ', '\n', '\0', '\u001f', '\ufeff'],
  ...['null', 'true', 'NaN', '\\u0000', '\\ud800', '\\udc00\\ud800', '\\ud83e\\udeb4', '\\x', '\\u12', '/**/', '1e999'],
  ...['-0', '00', '0x1', '"id":1,', '"name":"x",', '"\\u0069d":2,', '"__proto__":1,', '[['.repeat(60)],
  ...['{"a":'.repeat(120), [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80]],
]
const METHODS = ['PUT', 'DELETE', 'TRACE', 'OPTIONS', 'HEAD', 'CONNECT', 'FOO', 'get', '', 'PRI', 'QUERY', 'GET']
const PARTS: Partial<RawRequest>[] = [
  ...METHODS.map((method) => ({ method })),
  ...[
    ...['/', '*', '', '//plants', '/plants/', '/Plants', '/plants%00', '/%', '/%70lants', '/plants;a', '/./plants'],
    ...['http://other.test/plants', 'plants.test:80', '/plants#x', '/plants?', '/plants?a[__proto__]=1', '/__proto__'],
    ...['/plants?limit=0', '/plants?limit=1&limit=2', '/plants?cursor=%00', '/plants?cursor=-1', '/plants?limit=%'],
    ...[`/plants?x=${'y'.repeat(20_000)}`, `/plants?${'a=1&'.repeat(2_000)}`],
  ].map((target) => ({ target })),
  ...['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', 'HTTP/1.1 ', ''].map((version) => ({ version })),
]
const HEADERS = [
  ...['Host: other.test', 'Authorization: Bearer x', 'Content-Length: 5', 'Content-Length: -1', 'Content-Length: 1e3'],
  ...['Content-Length: 99999999999999999999', 'Content-Length:  7, 7', 'Transfer-Encoding: chunked'],
  ...['Transfer-Encoding: gzip, chunked', 'Transfer-Encoding: identity', 'Transfer-Encoding: \u000bchunked'],
  ...['Content-Type: text/plain', 'Content-Encoding: gzip', 'Expect: 100-continue', 'Expect: tea', 'Connection: close'],
  ...['Connection: Upgrade, keep-alive', 'Upgrade: websocket', 'Upgrade: h2c', '__proto__: x', ': x', 'A B: x'],
  ...['X: a\r\n b', 'X: a\nb', 'X: a\0b', 'X: \u00ff', `X-Request-Id: ${'a'.repeat(500)}`, `X: ${'x'.repeat(20_000)}`],
  ...['Range: bytes=0-1', 'If-None-Match: *', 'X-HTTP-Method-Override: DELETE'],
].map((line): [string, string] => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)])
const CHUNKS = ['zz\r\n', '-1\r\nx\r\n', 'f'.repeat(18), '5\r\nab\r\n', '1;a="b"\r\n{\r\n', '0\r\nX: y\r\n\r\n', '1\nx']

const id = fc.oneof(fc.constantFrom(...IDS), {
  weight: 20,
  arbitrary: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
})
const text = fc
  .array(fc.oneof(codePoint, fc.constantFrom(...FRAGMENTS)), { maxLength: 8 })
  .map((parts) => parts.join(''))

export const plants: fc.Arbitrary<ModelPlant> = fc.record({ id, name: text, tag: fc.option(text, { nil: undefined }) })

/** How a plant is written as JSON, and the size of the chunks of its body; null: none. */
export const spellings = fc.record({
  id: fc.nat(9),
  isEscaped: fc.boolean(),
  reversed: fc.boolean(),
  extra: fc.option(fc.constantFrom(...EXTRAS)),
  space: fc.constantFrom('', ' ', '\n', '\t\r '),
  chunk: fc.option(fc.integer({ min: 1, max: 100 }), { freq: 5 }),
})

/** Changes of bytes, anywhere in them. */
export const mutations = fc.array(
  fc.record({
    kind: fc.constantFrom('insert', 'insert', 'replace', 'flip', 'remove', 'repeat', 'cut'),
    at: fc.nat(2_000),
    length: fc.integer({ min: 1, max: 20 }),
    piece: fc.constantFrom(...PIECES),
  }),
  { minLength: 1, maxLength: 3 },
)

/** Changes of the members of an object. */
export const memberMutations = fc.array(
  fc.record({
    kind: fc.constantFrom('value', 'value', 'rename', 'remove', 'add', 'double'),
    at: fc.nat(2),
    key: fc.constantFrom(...KEYS),
    value: fc.constantFrom(...VALUES),
  }),
  { minLength: 1, maxLength: 2 },
)

type Spelling = ValueOf<typeof spellings>

/** Writes a plant as JSON, after changes of its members. */
export function writeBody(
  { id, name, tag }: ModelPlant,
  spelling: Spelling,
  changes: ValueOf<typeof memberMutations> = [],
): Buffer {
  const { isEscaped, reversed, extra, space } = spelling
  const quote = (value: string) => (isEscaped ? escaped(value) : JSON.stringify(value))
  const ids = [`${id}.0`, `${id}e0`, `${id}0E-1`, `${id}.000e+00`, id === 0n ? '-0' : `${id}`]
  const members: [key: string, value: string][] = [
    ['id', ids[spelling.id] ?? `${id}`],
    ['name', quote(name)],
  ]
  if (tag !== undefined) members.push(['tag', quote(tag)])
  for (const { kind, at, key, value } of changes) {
    const old = members[at] ?? ['x', 'null']
    if (kind === 'value') members.splice(at, 1, [old[0], value])
    else if (kind === 'rename') members.splice(at, 1, [key, old[1]])
    else if (kind === 'remove') members.splice(at, 1)
    else members.splice(at, 0, kind === 'add' ? [key, value] : old)
  }
  const written = members.map(([key, value]) => `${space}${quote(key)}${space}:${value}`)
  if (extra !== null) written.push(extra)
  if (reversed) written.reverse()
  return Buffer.from(`${space}{${written.join()}${space}}`)
}

function escaped(value: string): string {
  const codes = Array.from({ length: value.length }, (_, at) => value.charCodeAt(at).toString(16).padStart(4, '0'))
  return `"${codes.map((code) => `\\u${code}`).join('')}"`
}

/** Changes bytes in a few places. */
export function mutate(original: Buffer, changes: ValueOf<typeof mutations>): Buffer {
  return changes.reduce<Buffer>((bytes, { kind, at: place, length, piece }) => {
    const at = place % (bytes.length + 1)
    const [before, span, after] = [bytes.subarray(0, at), bytes.subarray(at, at + length), bytes.subarray(at + length)]
    const flipped = Buffer.from([(bytes[at] ?? 0) ^ (1 << (length % 8))])
    if (kind === 'insert') return Buffer.concat([before, Buffer.from(piece as string), span, after])
    if (kind === 'replace') return Buffer.concat([before, Buffer.from(piece as string), bytes.subarray(at + 1)])
    if (kind === 'flip') return Buffer.concat([before, flipped, bytes.subarray(at + 1)])
    if (kind === 'remove') return Buffer.concat([before, after])
    return kind === 'repeat' ? Buffer.concat([before, span, span, after]) : before
  }, original)
}

const changes = fc.record({
  at: fc.nat(4),
  count: fc.nat(100),
  header: fc.constantFrom(...HEADERS),
  part: fc.constantFrom(...PARTS),
  chunk: fc.constantFrom(...CHUNKS),
  bytes: mutations,
  noise: fc.uint8Array({ minLength: 1, maxLength: 300 }),
})
type HttpChange = ValueOf<typeof changes>

const httpMutations = {
  remove: (request: RawRequest, { at }: HttpChange) => withHeaders(request, at),
  double: (request: RawRequest, { at }: HttpChange) =>
    withHeaders(request, at, headerAt(request, at), headerAt(request, at)),
  add: (request: RawRequest, { at, header }: HttpChange) => withHeaders(request, at, headerAt(request, at), header),
  value(request: RawRequest, { at, bytes }: HttpChange) {
    const [name, value] = headerAt(request, at)
    return withHeaders(request, at, [name, mutate(Buffer.from(value), bytes).toString('latin1')])
  },
  many: (request: RawRequest, { at, count }: HttpChange) =>
    withHeaders(request, at, ...Array<[string, string]>(count * 20).fill(['X', 'y'])),
  part: (request: RawRequest, { part }: HttpChange) => writeRequest({ ...request, ...part }),
  head: (request: RawRequest, { bytes }: HttpChange) =>
    Buffer.concat([mutate(writeHead(request), bytes), request.body]),
  lineEnds: (request: RawRequest) =>
    Buffer.from(writeRequest(request).toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
  emptyLines: (request: RawRequest, { at }: HttpChange) =>
    Buffer.concat([Buffer.from('\r\n'.repeat(at + 1)), writeRequest(request)]),
  truncate: (request: RawRequest, { count }: HttpChange) => writeRequest(request).subarray(0, 4 * count + 1),
  chunks: (request: RawRequest, { chunk }: HttpChange) =>
    Buffer.concat([writeHead(inChunks(request, 9)), Buffer.from(chunk), request.body]),
  twice: (request: RawRequest) => Buffer.concat([writeRequest(request), writeRequest(request)]),
  followed: (request: RawRequest, { bytes }: HttpChange) =>
    Buffer.concat([writeRequest(request), mutate(writeHead(request), bytes), request.body]),
  noise: (_request: RawRequest, { noise }: HttpChange) => Buffer.from(noise),
}

type HttpKind = keyof typeof httpMutations

/** Changes of a request that mostly leave no well-formed HTTP. */
export const httpChanges = fc.tuple(
  fc.constantFrom(...(Object.keys(httpMutations) as HttpKind[]), 'add', 'part', 'part', 'head'),
  changes,
)

/** Writes a request with a change. Its body is unchanged or truncated. */
export function mutateHttp(request: RawRequest, [kind, change]: ValueOf<typeof httpChanges>): Buffer {
  return httpMutations[kind as HttpKind](request, change)
}

function headerAt({ headers }: RawRequest, at: number): [string, string] {
  return headers[at % headers.length] ?? ['X', 'y']
}

function withHeaders(request: RawRequest, at: number, ...changed: [string, string][]): Buffer {
  return writeRequest({ ...request, headers: request.headers.toSpliced(at % request.headers.length, 1, ...changed) })
}

/** Makes a request to list plants. */
export function listRequest(token: string, target = '/plants'): RawRequest {
  const headers: RawRequest['headers'] = [
    ['Host', 'plants.test'],
    ['Authorization', `Bearer ${token}`],
  ]
  return { method: 'GET', target, version: 'HTTP/1.1', headers, body: Buffer.alloc(0) }
}

/** Makes a request that creates a plant from a body. */
export function createRequest(token: string, body: Buffer, chunk: number | null = null): RawRequest {
  const request = { ...listRequest(token), method: 'POST', body }
  request.headers.push(['Content-Type', 'application/json'], ['Content-Length', String(body.length)])
  return chunk === null ? request : inChunks(request, chunk)
}

function inChunks(request: RawRequest, size: number): RawRequest {
  const pieces: Buffer[] = []
  for (let at = 0; at < request.body.length; at += size) {
    const chunk = request.body.subarray(at, at + size)
    pieces.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  const headers = request.headers.filter(([name]) => name !== 'Content-Length')
  const body = Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')])
  return { ...request, headers: [...headers, ['Transfer-Encoding', 'chunked']], body }
}

function writeHead({ method, target, version, headers }: RawRequest): Buffer {
  const lines = [`${method} ${target} ${version}`, ...headers.map(([name, value]) => `${name}: ${value}`)]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

/** Writes a request. */
export function writeRequest(request: RawRequest): Buffer {
  return Buffer.concat([writeHead(request), request.body])
}
