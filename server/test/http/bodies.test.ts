/** What the body of POST /plants may be. The property tests and the fuzzer have every other mistake and number. */
import fc from 'fast-check'
import { parse as parseLossless } from 'lossless-json'
import { afterAll, expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { MAX_BODY_BYTES } from '../../src/http/body.ts'
import { JsonSyntaxError, MAX_VALUES, parseJson } from '../../src/http/exact-json.ts'
import { post, postHead } from '../helpers/wire/requests.ts'
import { accepts, rejects } from '../helpers/wire/wire.ts'

const PLANT = '{"id":1,"name":"Ficus"}'
const LONG_KEY = 'a'.repeat(10_000)

const server = await startTestServer()
/** The same server with an account that has the accepted plants: what is rejected leaves the first account empty. */
const accepting = { ...server, ...(await server.createToken({ account: 'accepting' })) }
afterAll(async () => {
  expect(await (await server.call('/plants')).text(), 'a rejected request stores nothing').toBe('[]')
})

// What `rejects` expects of every response includes that it is short and repeats nothing long.
test.each<[string, string, RegExp?]>([
  ['nothing, with a Content-Length', post('')],
  ['neither a body nor a length', postHead({ Connection: 'close' })],
  ['a duplicate key', post('{"id":1,"\\u0069d":2,"name":"Ficus"}'), /duplicate key/],
  ['a duplicate key in an unknown field', post('{"id":1,"name":"","x":[{"a":{},"a":[[]]}]}'), /duplicate key/],
  ['a long duplicate key', post(`{"${LONG_KEY}":1,"${LONG_KEY}":1}`)],
  ['a key without a colon', post('{"secret" "x"}'), /^The body is not valid JSON at character 11\.$/],
  ['arrays nested too deeply', post(`${'['.repeat(101)}${']'.repeat(101)}`), /deeper than 100 levels/],
  ['too many values', post(withValues(1, MAX_VALUES + 1)), /more than 1000 values/],
  ['a string without an end', post(`{"id":1,"name":"${'\\"'.repeat(50_000)}`)],
  ['latin1', post(Buffer.from('{"id":1,"name":"ü"}', 'latin1')), /UTF-8/],
  // Others respond 415. But without a declaration, nothing distinguishes UTF-16 from malformed JSON.
  ['UTF-16', post(Buffer.from(`\ufeff${PLANT}`, 'utf16le'))],
])('a body that is not JSON gets a 400 (40001): %s', (_what, wire, message = /./) =>
  rejects(server, wire, 40001, { message }),
)

const ids = ['"1"', 'null', `${2n ** 63n}`, `${-(2n ** 63n) - 1n}`, '1e400', '9007199254740992.5']
test.each<[string, string, RegExp]>([
  ...['null', '"x"', `[${PLANT}]`].map((body): [string, string, RegExp] => [body, body, /^The body /]),
  ...['{"__proto__":{"id":6002,"name":"Ficus"}}', ...ids.map((id) => `{"id":${id},"name":""}`)].map(
    (body): [string, string, RegExp] => [body, body, /^id: /],
  ),
  ['an id of an exponent of 90 000 digits', `{"id":1e${'9'.repeat(90_000)},"name":"Ficus"}`, /^id: /],
  ['an id of 100 kB', `{"id":${'1'.repeat(100_000)},"name":"Ficus"}`, /^id: /],
  ...['null', '5', '"\\u0000"', '"\\udc00\\ud800"'].flatMap((text): [string, string, RegExp][] => [
    [`"name":${text}`, `{"id":1,"name":${text}}`, /^name: /],
    [`"tag":${text}`, `{"id":1,"name":"Ficus","tag":${text}}`, /^tag: /],
  ]),
  ['several mistakes', '{"tag":null}', /^(?=.{0,499}$).*id: .*; name: is required; tag: /],
  ['many invalid values', `{"id":[${Array(900).fill('{}')}],"name":{},"tag":[]}`, /^id: .*; name: .*; tag: /],
])('JSON that is not a NewPlant gets a 400 (40002) that names the field: %s', (_what, body, message) =>
  rejects(server, post(body), 40002, { message }),
)

test('in an accepted body keys that mean something to JavaScript are ignored, and change no prototype', async () => {
  const body = '{"id":6001,"name":"Ficus","__proto__":{"tag":"a"},"constructor":{"prototype":{"tag":"b"}},"toJSON":1}'
  await accepts(accepting, post(body), { body: '{"name":"Ficus"}' })
  await accepts(accepting, post('{"id":6003,"name":"Ficus"}'), { body: '{"name":"Ficus"}' })
})

/** A plant with so many values in all. */
function withValues(id: number, count: number): string {
  return `{"id":${id},"name":"Ficus","other":[${Array(count - 4).fill(0)}]}`
}

const long = (before: string, filler: string, after: string) =>
  before + filler.repeat((MAX_BODY_BYTES - Buffer.byteLength(before + after)) / Buffer.byteLength(filler)) + after

test.each([
  ['nesting up to the limit', `{"id":60000,"name":"Ficus","other":${'['.repeat(99)}${']'.repeat(99)}}`],
  ['as many values as are allowed', withValues(60001, MAX_VALUES)],
  ['space', long('{"id":60002,"name":"Ficus"}', ' ', '')],
  ['an id with zeros', long('{"name":"","id":60003.', '0', '}')],
  ['an id with zeros and an exponent', long('{"name":"","id":0.', '0', '60004e102384}').replace(/e\d+/, exponentOf)],
  ['a name of escapes', long('{"id":60005,"name":"', '\\u0061', '"}')],
  ['a name of emoji', long('{"id":60007,"name":"', '🌱', '"}')],
])('a body of 100 kB is accepted with %s', (_what, body) => accepts(accepting, post(body)))

/** Keeps the length of an exponent, and makes it so large that a fraction becomes an integer. */
function exponentOf(exponent: string, _at: number, text: string): string {
  return `e${String(text.indexOf('e1') - text.indexOf('.') - 1).padStart(exponent.length - 1, '0')}`
}

/** Parses a text; returns the class of the error if it is not JSON. */
function outcome(text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof SyntaxError) return JsonSyntaxError
    throw error
  }
}

/** Rounds every bigint of a value to a number, as JSON.parse does. */
function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, rounded(member)]))
}

const KEYS = ['', 'id', 'name', '__proto__', 'constructor', '0', '1', 'é', '🌱']
/** Values with the keys that JavaScript treats in another way, some of them escaped. */
const { value: anyJson } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.json({ maxDepth: 1 }),
    fc.array(tie('value'), { maxLength: 4 }).map((elements) => `[${elements}]`),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom(...KEYS), fc.boolean(), tie('value')), {
        selector: ([key]) => key,
        maxLength: 4,
      })
      .map(
        (members) =>
          `{${members.map(([key, isEscaped, value]) => `${isEscaped ? escaped(key) : JSON.stringify(key)}:${value}`)}}`,
      ),
  ),
}))

function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at).toString(16).padStart(4, '0'))
  return `"${units.map((unit) => `\\u${unit}`).join('')}"`
}

test('JSON is parsed as by JSON.parse, but without rounding, and mutated JSON is rejected exactly if JSON.parse rejects it', () => {
  const fragments = fc.constantFrom(...'"\\{}[],:-.e01 \n\u0001', 'tru', 'null', '\\u12', '')
  const space = fc.constantFrom(undefined, 1, '\t')
  const change = [anyJson, space, fc.nat(), fc.nat({ max: 3 }), fragments] as const
  fc.assert(
    fc.property(...change, (json, indent, position, removed, inserted) => {
      expect(rounded(parseJson(json))).toEqual(JSON.parse(json))
      const text = JSON.stringify(JSON.parse(json), null, indent)
      const at = position % (text.length + 1)
      const changed = text.slice(0, at) + inserted + text.slice(at + removed)
      const isRejected = outcome(changed, parseJson) === JsonSyntaxError
      const isInvalid = outcome(changed, JSON.parse) === JsonSyntaxError
      // Only JSON.parse accepts duplicate keys.
      if (isRejected && !isInvalid) expect(() => parseJson(changed)).toThrow('duplicate key')
      else expect(isRejected).toBe(isInvalid)
    }),
    { numRuns: 3000 },
  )
})

test('of two members with one key, whatever their values and however it is written, the text is rejected', () => {
  const member = fc.tuple(fc.boolean(), anyJson)
  const keys = fc.constantFrom(...KEYS)
  fc.assert(
    fc.property(keys, member, member, fc.constantFrom('', '"other":[1],'), (key, one, two, between) => {
      const [first, second] = [one, two].map(
        ([isEscaped, value]) => `${isEscaped ? escaped(key) : JSON.stringify(key)}:${value}`,
      )
      expect(() => parseJson(`[{${first},${between}${second}}]`)).toThrow('duplicate key')
    }),
  )
})

test('integers are those that lossless-json reads, and what is not one is never rounded to one', () => {
  const digits = fc.stringMatching(/^(?:0|[1-9]\d{0,24})$/)
  const fraction = fc.option(fc.stringMatching(/^(?:0{1,30}|\d{1,20}|0{15,25}1)$/), { nil: '' })
  const exponent = fc.option(fc.integer({ min: -30, max: 30 }), { nil: undefined })
  fc.assert(
    fc.property(fc.boolean(), digits, fraction, exponent, (isNegative, whole, fraction, exponent) => {
      const point = fraction === '' ? '' : `.${fraction}`
      const text = `${isNegative ? '-' : ''}${whole}${point}${exponent === undefined ? '' : `e${exponent}`}`
      const value = parseJson(text) as number | bigint
      const exact = integerOf((parseLossless(text) as { value: string }).value)
      // No int64 is as large.
      if (Math.abs(Number(text)) >= 10 ** 19) expect(Number.isSafeInteger(value)).toBe(false)
      else if (exact === undefined) expect(Number.isInteger(value)).toBe(false)
      else expect(BigInt(value)).toBe(exact)
    }),
    { numRuns: 5000 },
  )
})

/** Returns the integer that a decimal number is; undefined if it is none. */
function integerOf(decimal: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(decimal) ?? []
  const shift = Number(exponent) - fraction.length
  const scaled = BigInt(whole + fraction) * 10n ** BigInt(Math.max(0, shift))
  const divisor = 10n ** BigInt(Math.max(0, -shift))
  return scaled % divisor === 0n ? BigInt(`${sign}1`) * (scaled / divisor) : undefined
}

test.each<[text: string, value: number | bigint]>([
  ['-0', -0],
  ['100e-2', 1],
  ['9007199254740993', 9007199254740993n],
  ['-9223372036854775808', -9223372036854775808n],
  ['922337203685477580.70e1', 9223372036854775807n],
  ['1.00000000000000000001', Number.NaN],
])('%s is read as %s', (text, value) => expect(parseJson(text)).toBe(value))
