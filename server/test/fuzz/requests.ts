/** Requests of all kinds: plants as JSON in many spellings, and mutations of bodies and of HTTP. */
import fc from 'fast-check'
import { codePoint } from '../../../test/helpers/code-points.ts'
import { KEEP_ALIVE, post, postHead, withToken } from '../helpers/requests.ts'

/** A plant as a client means it. */
export interface ModelPlant {
  id: bigint
  name: string
  tag?: string | undefined
}

type ValueOf<Values> = Values extends fc.Arbitrary<infer Value> ? Value : never

const IDS = [2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 10n ** 18n]
const FRAGMENTS = ['a', 'Ficus ', '"', '\\', '/', '\b\n\t', '\u007f', 'é', 'e\u0301', '龟', '\u2028', '\ufeff', '🪴']
const EXTRAS = ['"x":null', '"__proto__":{"id":1}', '"n":{"id":[1,{"id":2}]}', '"ID":7', '"":1e400', '"a":"\\ud800"']
const KEYS = ['id', 'name', 'tag', 'Id', 'x', '', '__proto__', 'constructor', 'toString']
const VALUES = [
  ...['null', 'true', '[]', '{}', '""', '"1"', '5', '-0', '1.5', '1.0', '1e2', '1e-2', '100e-2', '1E+2', '01', '.5'],
  ...['9223372036854775807', '9223372036854775808', '-9223372036854775809', '9007199254740993.0', '1e400', '1e19'],
  ...['1.00000000000000000001', '0e99999999999', '1e99999999999', '1e-99999999999'],
  ...['"\\u0000"', '"\\ud800"', '"\\udfff x"', '"🪴"', '[5]', '{"id":1}'],
]
/** What parsers are likely to misread. */
const PIECES: (string | number[])[] = [
  ...['"', '\\', '{', '}', '[', ']', ',', ':', '-', '+', '.', 'e', '0', ' ', '\n', '\0', '\u001f', '\ufeff'],
  ...['null', 'true', 'NaN', '\\u0000', '\\ud800', '\\udc00\\ud800', '\\ud83e\\udeb4', '\\x', '\\u12', '/**/', '1e999'],
  ...['-0', '00', '0x1', '"id":1,', '"name":"x",', '"\\u0069d":2,', '"__proto__":1,', '[['.repeat(60)],
  ...['{"a":'.repeat(120), [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80]],
]
/** What is likely to be misread in the head of a request, or to change how its body is read. */
const HEAD_PIECES = [
  ...['\r', '\n', '\r\n', '\r\n\r\n', '\r\n a', ': ', ' ', '\t', '\u000b', '\0', '\u00ff', '%', '%ff'],
  ...['?limit=', '//', '#', 'GET ', 'CONNECT ', ' HTTP/1.0\r\n', ' HTTP/0.9\r\n', '\r\nX: y'.repeat(2_000)],
  ...['\r\nHost: x', '\r\nAuthorization: Bearer x', '\r\nContent-Length: 5', '\r\nContent-Length: 9, 9'],
  ...['\r\nTransfer-Encoding: chunked', '\r\nTransfer-Encoding: x', '\r\nExpect: 100-continue', '\r\nExpect: tea'],
  ...['\r\nConnection: close', '\r\nConnection: Upgrade\r\nUpgrade: h2c', '\r\nContent-Type: a'],
  ...['\r\nContent-Encoding: gzip', '\r\n__proto__: x', '\r\n: x', `\r\nX: ${'x'.repeat(20_000)}`],
]

const int64s = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const ids = fc.oneof(fc.constantFrom(...IDS), { weight: 20, arbitrary: int64s })
const texts = fc
  .array(fc.oneof(codePoint, fc.constantFrom(...FRAGMENTS)), { maxLength: 8 })
  .map((parts) => parts.join(''))
const plants: fc.Arbitrary<ModelPlant> = fc.record({
  id: ids,
  name: texts,
  tag: fc.option(texts, { nil: undefined }),
})

/** How a plant is written as JSON, and the size of the chunks of its body; null: none. */
const spellings = fc.record({
  id: fc.nat(9),
  isEscaped: fc.boolean(),
  reversed: fc.boolean(),
  extra: fc.option(fc.constantFrom(...EXTRAS)),
  space: fc.constantFrom('', ' ', '\n', '\t\r '),
  chunk: fc.option(fc.integer({ min: 1, max: 100 }), { freq: 5 }),
})

/** Changes of bytes: in some places, some are removed and others inserted. */
const mutationsWith = (pieces: (string | number[])[]) =>
  fc.array(
    fc.record({
      at: fc.nat(2_000),
      removed: fc.constantFrom(0, 0, 0, 1, 1, 2, 10, 2_000),
      piece: fc.oneof(fc.constantFrom(...pieces), fc.uint8Array({ maxLength: 3 })),
    }),
    { maxLength: 3 },
  )
const mutations = mutationsWith(PIECES)

/** Changes of the members of an object. */
const memberMutations = fc.array(
  fc.record({
    kind: fc.constantFrom('value', 'value', 'rename', 'remove', 'add', 'double'),
    at: fc.nat(2),
    key: fc.constantFrom(...KEYS),
    value: fc.constantFrom(...VALUES),
  }),
  { maxLength: 2 },
)

/** Changes of a request that mostly leave no well-formed HTTP. */
const httpChanges = fc.record({
  chunk: fc.constantFrom(null, null, null, 9),
  head: mutationsWith(HEAD_PIECES),
  followsUnchanged: fc.constantFrom(false, false, false, true),
})

const kind = <const Kind extends string>(name: Kind) => fc.constant(name)
/** A plant that the account has instead, and what is different. */
const change = fc.constantFrom({}, { name: 'another' }, { tag: 'another' })
const repetitions = fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, fc.record({ index: fc.nat(), change }))

/** Nothing, or changes of the members and the bytes of a body. */
const bodyChanges = fc.option(fc.tuple(memberMutations, mutations), { freq: 2, nil: [[], []] as [never[], never[]] })

/** What a client does next. */
export const steps = fc.oneof(
  { weight: 65, arbitrary: fc.tuple(kind('create'), plants, spellings, bodyChanges, repetitions) },
  { weight: 3, arbitrary: fc.tuple(kind('list')) },
  { weight: 15, arbitrary: fc.tuple(kind('http'), fc.option(plants, { freq: 3, nil: null }), spellings, httpChanges) },
)
export type Step = ValueOf<typeof steps>

/** Writes a plant as JSON, after changes of its members. */
export function writeBody(
  { id, name, tag }: ModelPlant,
  spelling: ValueOf<typeof spellings>,
  changes: ValueOf<typeof memberMutations> = [],
): Buffer {
  const { isEscaped, reversed, extra, space } = spelling
  const quote = (value: string) => (isEscaped ? `"${value.replace(/./gs, escaped)}"` : JSON.stringify(value))
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

/** Writes a UTF-16 unit as JSON's escape. */
const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Changes bytes in a few places. */
export function mutate(original: Buffer, changes: ValueOf<typeof mutations>): Buffer {
  return changes.reduce<Buffer>((bytes, { at: place, removed, piece }) => {
    const at = place % (bytes.length + 1)
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(piece as string), bytes.subarray(at + removed)])
  }, original)
}

/** Changes the head of a request. */
export function mutateHttp(wire: string, { head, followsUnchanged }: ValueOf<typeof httpChanges>): string {
  const begin = wire.indexOf('\r\n\r\n') + 4
  const mutated = mutate(Buffer.from(wire.slice(0, begin), 'latin1'), head).toString('latin1') + wire.slice(begin)
  return followsUnchanged ? wire + mutated : mutated
}

/** Builds a request that creates a plant from a body, in chunks of this size if it is one. */
export function createRequest(token: string, body: Buffer, chunk: number | null = null): string {
  if (chunk === null) return withToken(post(body, KEEP_ALIVE), token)
  const chunks = body.toString('latin1').match(new RegExp(`[^]{1,${chunk}}`, 'g')) ?? []
  const head = withToken(postHead({ 'Transfer-Encoding': 'chunked' }), token)
  return `${head}${[...chunks, ''].map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join('')}`
}
