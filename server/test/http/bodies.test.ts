/** What the body of POST /plants may be. The property test of the parser and the fuzzer have every other mistake. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createJsonReader, JsonSyntaxError } from '../../src/http/request/lossless-json.ts'
import { post, postHead } from '../helpers/wire/requests.ts'
import { accepts, rejects } from '../helpers/wire/wire.ts'

const PLANT = '{"id":1,"name":"Ficus"}'
const OBJECTS = Array(40_000).fill('{}').join()
const LONG_KEY = 'a'.repeat(10_000)

const server = await startTestServer()
/** The same server with an account that has the accepted plants: what is rejected leaves the first account empty. */
const accepting = { ...server, ...(await server.createToken({ account: 'accepting' })) }
afterAll(async () => {
  expect(await (await server.call('/plants')).text(), 'a rejected request stores nothing').toBe('[]')
})

/** Builds a request with a plant whose name has these bytes. */
function postBytes(...bytes: number[]): string {
  return post(Buffer.concat([Buffer.from('{"id":1,"name":"'), Buffer.from(bytes), Buffer.from('"}')]))
}

// What `rejects` expects of every response includes that it is short and repeats nothing long.
test.each<[string, string, RegExp?]>([
  ...['{', '{"id":1,"name":"Ficus",}', '{"id":NaN,"name":"Ficus"}', "{'id':1}", `${PLANT}\u00a0`].map(
    (body): [string, string] => [body, post(body)],
  ),
  ['nothing, with a Content-Length', post(''), /JSON value.*ends/],
  ['a second value', post(`${PLANT} {}`), /end .*at character 25\.$/],
  ['no chunks', postHead({ Connection: 'close', 'Transfer-Encoding': 'chunked' }).concat('0\r\n\r\n')],
  ['neither a body nor a length', postHead({ Connection: 'close' })],
  ['a duplicate key', post('{"id":1,"\\u0069d":2,"name":"Ficus"}')],
  ['a duplicate __proto__', post('{"__proto__":1,"id":1,"name":"Ficus","__proto__":2}')],
  ['a long duplicate key', post(`{"${LONG_KEY}":1,"${LONG_KEY}":1}`)],
  ['50 000 arrays', post(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)],
  ['20 000 arrays in an unknown field', post(`{"id":1,"name":"Ficus","other":${'['.repeat(20_000)}`)],
  ['a key without a colon', post('{"secret" "x"}'), /^(?!.*secret).*colon at character 11\.$/],
  ['an invalid escape', post('["\\x"]'), /invalid escape .* at character 2\.$/],
  ['arrays nested too deeply', post(`${'['.repeat(101)}${']'.repeat(101)}`), /nested/],
  ['objects nested too deeply', post(`${'{"a":'.repeat(101)}1${'}'.repeat(101)}`), /nested/],
  ['a string without an end', post(`{"id":1,"name":"${'\\"'.repeat(500_000)}`)],
  ['an overlong NUL', postBytes(0xc0, 0x80), /UTF-8/],
  ['latin1', postBytes(0xfc), /UTF-8/],
  // Others respond 415. But without a declaration, nothing distinguishes UTF-16 from malformed JSON.
  ['UTF-16', post(Buffer.from(`\ufeff${PLANT}`, 'utf16le'))],
])('a body that is not JSON gets a 400 (40001): %s', (_what, wire, message = /./) =>
  rejects(server, wire, 40001, { message }),
)

const ids = ['"1"', 'true', 'null', '[5]', `${2n ** 63n}`, `${-(2n ** 63n) - 1n}`, '1e400', '1.5', '9007199254740992.5']
test.each<[string, string, RegExp]>([
  ...['null', '5', '"x"', '[]', `[${PLANT}]`].map((body): [string, string, RegExp] => [body, body, /^The body /]),
  ...['{"__proto__":{"id":6002,"name":"Ficus"}}', ...ids.map((id) => `{"id":${id},"name":""}`)].map(
    (body): [string, string, RegExp] => [body, body, /^id: /],
  ),
  ['an id of an exponent of 90 000 digits', `{"id":1e${'9'.repeat(90_000)},"name":"Ficus"}`, /^id: /],
  ['an id of 1 MB', `{"id":${'1'.repeat(1_000_000)},"name":"Ficus"}`, /^id: /],
  ...['null', '5', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"a\\ud83db"'].flatMap(
    (text): [string, string, RegExp][] => [
      [`"name":${text}`, `{"id":1,"name":${text}}`, /^name: /],
      [`"tag":${text}`, `{"id":1,"name":"Ficus","tag":${text}}`, /^tag: /],
    ],
  ),
  ['several mistakes', '{"tag":null}', /^(?=.{0,499}$).*id: .*; name: is required; tag: /],
  ['40 000 invalid values', `{"id":[${OBJECTS}],"name":{},"tag":[]}`, /^id: .*; name: .*; tag: /],
])('JSON that is not a NewPlant gets a 400 (40002) that names the field: %s', (_what, body, message) =>
  rejects(server, post(body), 40002, { message }),
)

test('in an accepted body a surrogate pair is one character', () =>
  accepts(accepting, post('{"id":11001,"name":"\\ud83c\\udf31"}'), { body: '{"name":"🌱"}' }))

test('in an accepted body keys that mean something to JavaScript are ignored, and change no prototype', async () => {
  const body = '{"id":6001,"name":"Ficus","__proto__":{"tag":"a"},"constructor":{"prototype":{"tag":"b"}},"toJSON":1}'
  await accepts(accepting, post(body), { body: '{"name":"Ficus"}' })
  await accepts(accepting, post('{"id":6003,"name":"Ficus"}'), { body: '{"name":"Ficus"}' })
})

test.each([
  ['nesting up to the limit', `{"id":60000,"name":"Ficus","other":${'['.repeat(99)}${']'.repeat(99)}}`],
  ['keys like integers', withFields(60001, (index) => `"${index * 65_536}":1`)],
  ['keys that are similar', withFields(60002, (index) => `"${'Aa'.repeat(5)}${index}":1`)],
  ['spaces', `${' '.repeat(500_000)}{"id":60003,"name":"Ficus"}${' '.repeat(500_000)}`],
  ['a long name of escapes', `{"id":60004,"name":"${'\\u0061'.repeat(100_000)}"}`],
])('an accepted body is read in time though it is expensive for naive readers: %s', (_what, body) =>
  accepts(accepting, post(body)),
)

function withFields(id: number, field: (index: number) => string): string {
  return `{"id":${id},"name":"Ficus",${Array.from({ length: 10_000 }, (_, index) => field(index)).join()}}`
}

const parseLosslessJson = (text: string) => createJsonReader(text)()?.value

/** Parses a text; returns the class of the error if it is not JSON. */
function outcome(text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof SyntaxError) return JsonSyntaxError
    throw error
  }
}

function inParts(text: string): unknown {
  const read = createJsonReader(text)
  for (;;) {
    const whole = read(1)
    if (whole) return whole.value
  }
}

/** Rounds every bigint of a value to a number, as JSON.parse does. */
function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, rounded(member)]))
}

test('JSON is parsed as by JSON.parse, but without rounding, and mutated JSON is rejected exactly if JSON.parse rejects it', () => {
  const fragments = fc.constantFrom(...'"\\{}[],:-.e01 \n\u0001', 'tru', 'null', '\\u12', '')
  const space = fc.constantFrom(undefined, 1, '\t')
  const change = [fc.json({ maxDepth: 6 }), space, fc.nat(), fc.nat({ max: 3 }), fragments] as const
  fc.assert(
    fc.property(...change, (json, indent, position, removed, inserted) => {
      const text = JSON.stringify(JSON.parse(json), null, indent)
      expect(rounded(parseLosslessJson(text))).toEqual(JSON.parse(text))
      expect(inParts(text)).toEqual(parseLosslessJson(text))
      const at = position % (text.length + 1)
      const changed = text.slice(0, at) + inserted + text.slice(at + removed)
      const isRejected = outcome(changed, parseLosslessJson) === JsonSyntaxError
      const isInvalid = outcome(changed, JSON.parse) === JsonSyntaxError
      // Only JSON.parse accepts duplicate keys.
      if (isRejected && !isInvalid) expect(() => parseLosslessJson(changed)).toThrow(/key/)
      else expect(isRejected).toBe(isInvalid)
    }),
    { numRuns: 3000 },
  )
})
