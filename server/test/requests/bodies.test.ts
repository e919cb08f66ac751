/** What the body of POST /plants may be. The fuzzer has other bytes and numbers, the conformance suite other members. */
import { limits } from '@plant-store/contract'
import { afterAll, expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { MAX_VALUES } from '../../src/requests/body.ts'
import { post, postHead } from '../helpers/requests.ts'
import { accepts, rejects } from '../helpers/wire.ts'

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
  [
    'a wrong last byte at the limit',
    post('{"id":1,"name":""}'.padEnd(limits.bodyBytes - 1).padEnd(limits.bodyBytes, 'x')),
  ],
  ['a string without an end', post(`{"id":1,"name":"${'\\"'.repeat(50_000)}`)],
  ['latin1', post(Buffer.from('{"id":1,"name":"ü"}', 'latin1')), /UTF-8/],
  // Others respond 415. But without a declaration, nothing distinguishes UTF-16 from malformed JSON.
  ['UTF-16', post(Buffer.from(`\ufeff${PLANT}`, 'utf16le'))],
])('a body that is not JSON gets a 400 (40001): %s', (_what, wire, message = /./) =>
  rejects(server, wire, 40001, { message }),
)

test.each<[body: string, message: RegExp]>([
  ...['null', '"x"', `[${PLANT}]`].map((body): [string, RegExp] => [body, /^The body /]),
  ...['"1"', 'null', `${2n ** 63n}`, `${-(2n ** 63n) - 1n}`, '1e400', '9007199254740992.5'].map(
    (id): [string, RegExp] => [`{"id":${id},"name":""}`, /^id: /],
  ),
  ['{"__proto__":{"id":6002,"name":"Ficus"}}', /^id: /],
  [`{"id":1e${'9'.repeat(90_000)},"name":"Ficus"}`, /^id: /],
  [`{"id":${'1'.repeat(100_000)},"name":"Ficus"}`, /^id: /],
  ...['null', '5', '"\\u0000"', '"\\udc00\\ud800"'].flatMap((text): [string, RegExp][] => [
    [`{"id":1,"name":${text}}`, /^name: /],
    [`{"id":1,"name":"Ficus","tag":${text}}`, /^tag: /],
  ]),
  ['{"tag":null}', /^(?=.{0,499}$).*id: .*; name: is required; tag: /],
  [`{"id":[${Array(900).fill('{}')}],"name":{},"tag":[]}`, /^id: .*; name: .*; tag: /],
])('JSON that is not a NewPlant gets a 400 (40002) that names the field: $0', (body, message) =>
  rejects(server, post(body), 40002, { message }),
)

/** A plant with so many values in all. */
function withValues(id: number, count: number): string {
  return `{"id":${id},"name":"Ficus","other":[${Array(count - 4).fill(0)}]}`
}

const long = (before: string, filler: string, after: string) =>
  before + filler.repeat((limits.bodyBytes - Buffer.byteLength(before + after)) / Buffer.byteLength(filler)) + after

test.each([
  ['nesting up to the limit', `{"id":60000,"name":"Ficus","other":${'['.repeat(99)}${']'.repeat(99)}}`],
  ['as many values as are allowed', withValues(60001, MAX_VALUES)],
  ['space', long('{"id":60002,"name":"Ficus"}', ' ', '')],
  ['an id with zeros', long('{"name":"","id":60003.', '0', '}')],
  ['a name of escapes', long('{"id":60005,"name":"', '\\u0061', '"}')],
  ['a name of emoji', long('{"id":60007,"name":"', '🌱', '"}')],
])('a body of 100 kB is accepted with %s', (_what, body) => accepts(accepting, post(body)))

/** A plant in so many chunks of one byte. */
const inChunks = (id: number, count: number) => {
  const body = `{"id":${id},"name":"Ficus"}`.padEnd(count)
  return `${postHead({ Connection: 'close', 'Transfer-Encoding': 'chunked' })}${body.replace(/./g, '1\r\n$&\r\n')}0\r\n\r\n`
}

test('a body has at most 5,000 chunks; one that has more gets a 413, and its connection is closed', async () => {
  await accepts(accepting, inChunks(60008, 5_000))
  const message = /more than 5000 chunks/
  await rejects(accepting, inChunks(60009, 5_001), 41300, { headers: { Connection: 'close' }, message })
})

const TOO_LARGE = { headers: { Connection: 'close' }, message: /\b102400 bytes/ }
const CHUNKED = postHead({ 'Transfer-Encoding': 'chunked' })

const TOO_MANY = limits.bodyBytes + 1
test.each([
  ['a larger Content-Length, before any of the body is sent', postHead({ 'Content-Length': String(TOO_MANY) })],
  ['a Content-Length beyond any body', postHead({ 'Content-Length': '9'.repeat(18) })],
  ['chunks that exceed it, before the body ends', `${CHUNKED}${TOO_MANY.toString(16)}\r\n${' '.repeat(TOO_MANY)}\r\n`],
])('%s gets a 413', (_what, wire) => rejects(server, wire, 41300, TOO_LARGE))
