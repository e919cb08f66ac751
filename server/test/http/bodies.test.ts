/** What the body of POST /plants may be. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { post, postHead } from '../helpers/wire/requests.ts'
import { accepts, rejects, type Target } from '../helpers/wire/wire.ts'

const PLANT = '{"id":1,"name":"Ficus"}'

let server: TestServer
/** The same server with an account that has the accepted plants: what is rejected leaves the first account empty. */
let accepting: Target
beforeAll(async () => {
  server = await startTestServer()
  const { token } = await server.createToken({ account: 'accepting' })
  accepting = { url: server.url, token }
})
afterAll(async () => {
  expect(await (await server.call('/plants')).text(), 'a rejected request stores nothing').toBe('[]')
  await server.close()
})

// The property tests of the parser and the fuzzer have every other mistake.
describe('a body that is not JSON gets a 400 (40001)', () => {
  test.each([
    ...['{', '{"id":1,"name":"Ficus",}', `${PLANT}{}`, '{"id":NaN,"name":"Ficus"}', "{'id':1,'name':'Ficus'}"],
    ...['{"id":1,/* one */"name":"Ficus"}', '{"id":007,"name":"Ficus"}', '{"id":1,"name":"Fi\ncus"}', `${PLANT}\u00a0`],
  ])('%s', (body) => rejects(server, post(body), 40001))

  test.each([
    ['an empty body with a Content-Length', post('')],
    ['a space', post(' ')],
    ['whitespace', post(' \r\n\t ')],
    ['an empty chunked body', postHead({ Connection: 'close', 'Transfer-Encoding': 'chunked' }).concat('0\r\n\r\n')],
    ['neither a body nor a length', postHead({ Connection: 'close' })],
  ])('%s', (_what, wire) => rejects(server, wire, 40001))

  test.each([
    '{"id":1,"id":2,"name":"Ficus"}',
    '{"id":1,"\\u0069d":2,"name":"Ficus"}',
    '{"id":1,"name":"Ficus","other":{"a":1,"a":2}}',
    '{"__proto__":1,"id":1,"name":"Ficus","__proto__":2}',
  ])('a duplicate key: %s', (body) => rejects(server, post(body), 40001))

  test.each([
    ['50 000 arrays', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['20 000 objects', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
    ['20 000 arrays in an unknown field', `{"id":1,"name":"Ficus","other":${'['.repeat(20_000)}`],
  ])('nesting: %s', (_what, body) => rejects(server, post(body), 40001))

  test.each([
    ['an overlong NUL', [0xc0, 0x80]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['latin1', [0xfc]],
  ])('text that is not UTF-8: %s', (_what, bytes) => {
    const body = Buffer.concat([Buffer.from('{"id":1,"name":"'), Buffer.from(bytes), Buffer.from('"}')])
    return rejects(server, post(body), 40001, { message: /UTF-8/ })
  })

  test('two byte order marks', () => rejects(server, post(`\ufeff\ufeff${PLANT}`), 40001))

  // Others respond 415. But without a declaration, nothing distinguishes UTF-16 from malformed JSON.
  test.each([
    ['UTF-16 that is not declared', Buffer.from(PLANT, 'utf16le')],
    ['UTF-16 with a byte order mark', Buffer.from(`\ufeff${PLANT}`, 'utf16le')],
  ])('%s', (_what, body) => rejects(server, post(body), 40001))
})

describe('JSON that is not a NewPlant gets a 400 (40002) that names the field', () => {
  test.each(['null', '5', '"x"', '[]', 'true', `[${PLANT}]`])('%s', (body) =>
    rejects(server, post(body), 40002, { message: /^The body / }),
  )

  test.each(['{}', '{"name":"Ficus"}', '{"__proto__":{"id":6002,"name":"Ficus"}}'])('no id: %s', (body) =>
    rejects(server, post(body), 40002, { message: /^id: / }),
  )

  test.each([
    ...['"1"', '""', '"0x10"', 'true', 'null', '[5]', '{}'],
    ...[`${2n ** 63n}`, `${-(2n ** 63n) - 1n}`, '1e400', '-1e400'],
    ...['1.5', '0.1', '1e-1', '9007199254740992.5', '1.00000000000000000001'],
  ])('"id":%s', (id) => rejects(server, post(`{"id":${id},"name":"Ficus"}`), 40002, { message: /^id: / }))

  test.each([
    ['90 000 nines', '9'.repeat(90_000)],
    ['90 000 zeros', `1${'0'.repeat(90_000)}`],
    ['an exponent of 90 000 digits', `1e${'9'.repeat(90_000)}`],
  ])('an id of %s', (_what, id) => rejects(server, post(`{"id":${id},"name":"Ficus"}`), 40002, { message: /^id: / }))

  test('no name', () => rejects(server, post('{"id":1}'), 40002, { message: /^name: is required/ }))

  test.each(['null', '5', '"\\u0000"', '"\\ud800"', '"\\udc00"', '"\\udc00\\ud800"', '"a\\ud83db"'])(
    '"name":%s',
    (name) => rejects(server, post(`{"id":1,"name":${name}}`), 40002, { message: /^name: / }),
  )

  test.each([
    ...['null', '7', '"a\\u0000b"'],
    ...['"\\udfff"', '"\\ud800"', '"\\udc00"', '"\\udc00\\ud800"', '"a\\ud83db"'],
  ])('"tag":%s', (tag) => rejects(server, post(`{"id":1,"name":"Ficus","tag":${tag}}`), 40002, { message: /^tag: / }))

  test('several mistakes are named together in a short message', () =>
    rejects(server, post('{"name":5,"tag":null}'), 40002, {
      message: /^(?=.{0,499}$).*id: .*; name: .*; tag: /,
    }))
})

describe('an accepted body', () => {
  test('a surrogate pair is one character', () =>
    accepts(accepting, post('{"id":11001,"name":"\\ud83c\\udf31"}'), { body: '{"name":"🌱"}' }))

  test('keys that mean something to JavaScript are ignored, and change no prototype', async () => {
    const body = '{"id":6001,"name":"Ficus","__proto__":{"tag":"a"},"constructor":{"prototype":{"tag":"b"}},"toJSON":1}'
    await accepts(accepting, post(body), { body: '{"name":"Ficus"}' })
    await accepts(accepting, post('{"id":6003,"name":"Ficus"}'), { body: '{"name":"Ficus"}' })
  })
})

describe('a body that is expensive for naive readers is read in time', () => {
  test.each([
    ['keys like integers', withFields(60001, (index) => `"${index * 65_536}":1`)],
    ['keys that are similar', withFields(60002, (index) => `"${'Aa'.repeat(5)}${index}":1`)],
    ['spaces', `${' '.repeat(500_000)}{"id":60003,"name":"Ficus"}${' '.repeat(500_000)}`],
    ['a long name of escapes', `{"id":60004,"name":"${'\\u0061'.repeat(100_000)}"}`],
  ])('%s', (_what, body) => accepts(accepting, post(body)))

  test('a string without an end', () => rejects(server, post(`{"id":1,"name":"${'\\"'.repeat(500_000)}`), 40001))
  test('a number of 1 MB', () => rejects(server, post(`{"id":${'1'.repeat(1_000_000)},"name":"Ficus"}`), 40002))
})

describe('the response stays short', () => {
  const objects = Array(40_000).fill('{}').join()
  const key = 'a'.repeat(10_000)

  test.each([
    ['40 000 invalid items', `[${objects}]`, 40002],
    ['40 000 invalid values', `{"id":[${objects}],"name":{},"tag":[]}`, 40002],
    ['a long duplicate key', `{"${key}":1,"${key}":1}`, 40001],
  ])('for %s', (_what, body, error) => rejects(server, post(body), error))
})

function withFields(id: number, field: (index: number) => string): string {
  return `{"id":${id},"name":"Ficus",${Array.from({ length: 10_000 }, (_, index) => field(index)).join()}}`
}
