/**
 * Bodies of POST /plants in any spelling, against a model of what an account has. The conformance suite of the client has
 * requests of every operation, requests/bodies.test.ts what is not JSON, and requests/protocol.test.ts what is not HTTP.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { codePoint } from '../../../test/helpers/code-points.ts'
import { runs } from '../../../test/helpers/long-tests.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { expectWellFormed } from '../helpers/wire.ts'

/** They post at the same time, so that they share commits. */
const ACCOUNTS = 8
const POSTS = 40
const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n }
const SAFE = { min: BigInt(Number.MIN_SAFE_INTEGER), max: BigInt(Number.MAX_SAFE_INTEGER) }
const IDS = [0n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 10n ** 18n, INT64.min - 1n, INT64.max + 1n, 10n ** 400n]
const FRAGMENTS = ['a', 'Ficus ', ',[{', '"', '\\', '\b\n\t', '\u007f', 'é', 'e\u0301', '龟', '\u2028', '\ufeff', '🪴']
/** What not every engine keeps exactly. */
const INVALID = ['\0', '\ud800', '\udc00\ud800']
const EXTRAS = [
  '"x":null',
  '"__proto__":{"id":1}',
  '"n":{"id":[1,{"id":2},[ ]]}',
  '"ID":7',
  '"":1e400',
  '"a":"\\ud800"',
]
/** Keys that are there twice, in an object of any depth. */
const DUPLICATES = ['"id":1', '"\\u0069d":[]', '"name":"x"', '"n":[{"a":1,"b":{"a":[],"\\u0061":{}}}]']

const texts = fc
  .array(
    fc.oneof(
      { weight: 20, arbitrary: codePoint },
      { weight: 20, arbitrary: fc.constantFrom(...FRAGMENTS) },
      fc.constantFrom(...INVALID),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))

/** A plant as a client means it, and how it is written as JSON. */
const posts = fc.record({
  id: fc.oneof(fc.constantFrom(...IDS), { weight: 5, arbitrary: fc.bigInt(INT64) }, fc.bigInt(SAFE)),
  name: texts,
  tag: fc.option(texts, { nil: undefined }),
  number: fc.nat(9),
  isEscaped: fc.boolean(),
  reversed: fc.boolean(),
  extra: fc.option(fc.constantFrom(...EXTRAS, ...EXTRAS, ...DUPLICATES)),
  space: fc.constantFrom('', ' ', '\n', '\t\r '),
})
type Post = typeof posts extends fc.Arbitrary<infer Value> ? Value : never

test('bodies in any spelling get the responses that a model predicts, and the list has what got a 200', async () => {
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
async function useAccount(server: TestServer, account: string, sequence: Post[]): Promise<void> {
  const { token } = await server.createToken({ account })
  /** In order of creation. */
  const stored: Post[] = []

  /** Stores a plant. Returns its JSON, or the number of the error if it is invalid, or its id is that of another one. */
  function store(plant: Post): string | number {
    if (DUPLICATES.includes(plant.extra ?? '')) return 40001
    if (!isValid(plant)) return 40002
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

  for (const post of sequence) {
    const body = writeBody(post)
    await expectResponse(server.post(body, { token }), store(post), body.slice(0, 4_000))
  }
  await expectResponse(server.call('/plants', { token }), `[${stored.map(toBody)}]`)
}

/** Writes what a client sees of a plant. */
function toBody({ name, tag }: Post): string {
  return JSON.stringify({ name, tag })
}

/** Writes a plant as JSON. */
function writeBody({ id, name, tag, number, isEscaped, reversed, extra, space }: Post): string {
  const quote = (value: string) => (isEscaped ? `"${value.replace(/./gs, escaped)}"` : JSON.stringify(value))
  const members: [key: string, value: string][] = [
    ['id', spellings(id)[number] ?? `${id}`],
    ['name', quote(name)],
  ]
  if (tag !== undefined) members.push(['tag', quote(tag)])
  const written = members.map(([key, value]) => `${space}${quote(key)}${space}:${value}`)
  if (extra !== null) written.push(extra)
  if (reversed) written.reverse()
  return `${space}{${written.join()}${space}}`
}

/** Returns other spellings of an id, the last one of a fraction next to it. */
function spellings(id: bigint): string[] {
  const tens = id % 10n === 0n ? `${id / 10n}e+1` : `${id}.000e0`
  return [id === 0n ? '-0' : `${id}.0`, `${id * 10n}E-1`, tens, `${id}.1`]
}

/** Writes a UTF-16 unit as JSON's escape. */
const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Whether a plant is one: an id that is not safe is written in plain digits. */
function isValid({ id, name, tag = '', number }: Post): boolean {
  const isWritten = number > 3 || (number < 3 && id >= SAFE.min && id <= SAFE.max)
  return isWritten && id >= INT64.min && id <= INT64.max && !/[\0\ud800-\udfff]/u.test(name + tag)
}
