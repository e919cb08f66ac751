/**
 * Bodies of POST /plants in any spelling, many of them mutated, against a model of what an account has. The conformance
 * suite of the client has requests of every operation, and requests/protocol.test.ts what is not HTTP.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { codePoint } from '../../../test/helpers/code-points.ts'
import { runs } from '../../../test/helpers/long-tests.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { expectWellFormed } from '../helpers/wire.ts'

/** A plant as a client means it. */
interface ModelPlant {
  id: bigint
  name: string
  tag?: string | undefined
}

type ValueOf<Values> = Values extends fc.Arbitrary<infer Value> ? Value : never

/** They post at the same time, so that they share commits. */
const ACCOUNTS = 8
const POSTS = 40
const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n }
const IDS = [0n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 10n ** 18n]
const FRAGMENTS = ['a', 'Ficus ', '"', '\\', '/', '\b\n\t', '\u007f', 'é', 'e\u0301', '龟', '\u2028', '\ufeff', '🪴']
const EXTRAS = ['"x":null', '"__proto__":{"id":1}', '"n":{"id":[1,{"id":2}]}', '"ID":7', '"":1e400', '"a":"\\ud800"']
/** What parsers are likely to misread. */
const PIECES: (string | number[])[] = [
  ...['"', '\\', '{', '}', '[', ']', ',', ':', '-', '+', '.', 'e', '0', ' ', '\n', '\0', '\u001f', '\ufeff'],
  ...['null', 'true', 'NaN', '\\u0000', '\\ud800', '\\udc00\\ud800', '\\ud83e\\udeb4', '\\x', '\\u12', '/**/', '1e999'],
  ...['-0', '00', '0x1', '"id":1,', '"name":"x",', '"\\u0069d":2,', '"__proto__":1,', '[['.repeat(60)],
  ...['{"a":'.repeat(120), [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80]],
]

const texts = fc
  .array(fc.oneof(codePoint, fc.constantFrom(...FRAGMENTS)), { maxLength: 8 })
  .map((parts) => parts.join(''))
const plants: fc.Arbitrary<ModelPlant> = fc.record({
  id: fc.oneof(fc.constantFrom(...IDS), { weight: 5, arbitrary: fc.bigInt(INT64) }),
  name: texts,
  tag: fc.option(texts, { nil: undefined }),
})

/** How a plant is written as JSON. */
const spellings = fc.record({
  id: fc.nat(9),
  isEscaped: fc.boolean(),
  reversed: fc.boolean(),
  extra: fc.option(fc.constantFrom(...EXTRAS)),
  space: fc.constantFrom('', ' ', '\n', '\t\r '),
})

/** Changes of bytes: in some places, some are removed and others inserted. */
const mutations = fc.array(
  fc.record({
    at: fc.nat(2_000),
    removed: fc.constantFrom(0, 0, 0, 1, 1, 2, 10, 2_000),
    piece: fc.oneof(fc.constantFrom(...PIECES), fc.uint8Array({ maxLength: 3 })),
  }),
  { maxLength: 3 },
)

const posts = fc.record({
  plant: plants,
  spelling: spellings,
  mutation: fc.oneof(fc.constant<[]>([]), mutations),
})

test('bodies in any spelling, and mutated ones, get the responses that a model predicts, and the list has what got a 200', async () => {
  await using server = await startTestServer()
  const seed = Number(process.env['PLANT_STORE_FUZZ_SEED'] || Math.floor(Math.random() * 2 ** 31))
  console.log(`PLANT_STORE_FUZZ_SEED=${seed} sends these requests again.`)
  let account = 0
  const sequences = fc.array(posts, { minLength: POSTS, maxLength: POSTS })
  await fc.assert(
    fc.asyncProperty(fc.array(sequences, { minLength: ACCOUNTS, maxLength: ACCOUNTS }), async (all) => {
      await Promise.all(all.map((each) => useAccount(server, `account ${++account}`, each)))
    }),
    { numRuns: runs(15), seed, endOnFailure: true },
  )
}, 600_000)

/** Posts for an account that nothing else writes to, and compares each response, and the list, with a model. */
async function useAccount(server: TestServer, account: string, sequence: ValueOf<typeof posts>[]): Promise<void> {
  const { token } = await server.createToken({ account })
  /** In order of creation. */
  const stored: ModelPlant[] = []

  /** Stores a plant. Returns its JSON, or the number of the error if the account has another one with this id. */
  function store(plant: ModelPlant): string | number {
    const same = stored.find(({ id }) => id === plant.id)
    if (!same) stored.push(plant)
    return same && toBody(same) !== toBody(plant) ? 40003 : toBody(plant)
  }

  /** Expects the JSON of a plant or a list, or the number of an error. */
  async function expectResponse(sent: Promise<Response>, expected: string | number, shown = ''): Promise<void> {
    const response = await sent
    const [headers, body] = [new Map(response.headers), await response.text()]
    expectWellFormed({ status: response.status, headers, body, bodyless: false })
    const value = JSON.parse(body)
    expect(value.error ?? JSON.stringify(value), shown).toBe(expected)
  }

  for (const { plant, spelling, mutation } of sequence) {
    const body = mutate(writeBody(plant, spelling), mutation)
    const predicted = predict(body)
    const shown = JSON.stringify(body.toString('latin1')).slice(0, 4_000)
    const expected = typeof predicted === 'number' ? predicted : store(predicted)
    await expectResponse(server.post(new Uint8Array(body), { token }), expected, shown)
  }
  await expectResponse(server.call('/plants', { token }), `[${stored.map(toBody)}]`)
}

/** Writes what a client sees of a plant. */
function toBody({ name, tag }: ModelPlant): string {
  return JSON.stringify({ name, tag })
}

/** Writes a plant as JSON. */
function writeBody({ id, name, tag }: ModelPlant, spelling: ValueOf<typeof spellings>): Buffer {
  const { isEscaped, reversed, extra, space } = spelling
  const quote = (value: string) => (isEscaped ? `"${value.replace(/./gs, escaped)}"` : JSON.stringify(value))
  const tens = id % 10n === 0n ? `${id / 10n}e+1` : `${id}.000e0`
  const ids = [`${id}.0`, `${id}0E-1`, tens, `${id}.1`, id === 0n ? '-0' : `${id}`]
  const members: [key: string, value: string][] = [
    ['id', ids[spelling.id] ?? `${id}`],
    ['name', quote(name)],
  ]
  if (tag !== undefined) members.push(['tag', quote(tag)])
  const written = members.map(([key, value]) => `${space}${quote(key)}${space}:${value}`)
  if (extra !== null) written.push(extra)
  if (reversed) written.reverse()
  return Buffer.from(`${space}{${written.join()}${space}}`)
}

/** Writes a UTF-16 unit as JSON's escape. */
const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Changes bytes in a few places. */
function mutate(original: Buffer, changes: ValueOf<typeof mutations>): Buffer {
  return changes.reduce<Buffer>((bytes, { at: place, removed, piece }) => {
    const at = place % (bytes.length + 1)
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(piece as string), bytes.subarray(at + removed)])
  }, original)
}

/**
 * Reads a body by the rules of the contract, in another way than the server: `JSON.parse` decides what is JSON, and its
 * reviver sees the text of the id. Of duplicate keys it keeps one, so there are more in the text.
 *
 * @returns the plant, or the number of the error
 */
function predict(bytes: Buffer): ModelPlant | 40001 | 40002 {
  let text: string
  let value: unknown
  // The whole value counts as a member, too.
  let members = -1
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    value = JSON.parse(
      text,
      function revive(this: unknown, _key: string, value: unknown, context?: { source: string }) {
        if (!Array.isArray(this)) members++
        return typeof value === 'number' ? (exactInteger(context?.source ?? '') ?? null) : value
      },
    )
  } catch {
    return 40001
  }
  const keys = text.match(/"(?:[^"\\]|\\.)*"\s*:/g) ?? []
  if (keys.length > members) return 40001
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 40002
  const { id, name, tag } = value as Record<string, unknown>
  if (typeof id !== 'bigint' || id < INT64.min || id > INT64.max) return 40002
  if (!isText(name) || !(isText(tag) || !Object.hasOwn(value, 'tag'))) return 40002
  return { id, name, tag: tag as string | undefined }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && !/[\0\ud800-\udfff]/u.test(value)
}

/** Returns the value of a JSON number; undefined if it is not an integer, or not a safe one and not in plain digits. */
function exactInteger(literal: string): bigint | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? []
  const digits = whole + fraction
  if (/^0*$/.test(digits)) return 0n
  const length = whole.length + Number(exponent)
  if (length > 10_000 || /[1-9]/.test(digits.slice(Math.max(0, length)))) return undefined
  const value = BigInt(sign + digits.slice(0, length).padEnd(length, '0'))
  return /^-?\d+$/.test(literal) || Number.isSafeInteger(Number(value)) ? value : undefined
}
