/** How the body of POST /plants may be encoded. */
import { afterAll, beforeAll, describe, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { post } from '../helpers/wire/requests.ts'
import { accepts, rejects } from '../helpers/wire/wire.ts'

const PLANT = '{"id":1,"name":"ü"}'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

describe('the media type', () => {
  const rejected = [
    'json',
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/problem+json',
    'application/json;;;',
    'application/json, application/json',
    `application/json${' '.repeat(10_000)}x`,
    ...['utf-16', 'utf-16le', 'utf-32', 'utf-7', 'latin1', 'iso-8859-1', 'bogus', ''].map(
      (charset) => `application/json; charset=${charset}`,
    ),
  ].map((type): [string, string] => [type.slice(0, 50), type])
  test.each<[string, string | null]>([['a missing type', null], ['an empty type', ''], ...rejected])(
    '%s gets a 415 with Accept',
    (_title, type) =>
      rejects(server, post(PLANT, { 'Content-Type': type }), 41500, { headers: { Accept: 'application/json' } }),
  )

  test.each([
    'APPLICATION/JSON',
    'application/json;',
    'application/json ; charset=utf-8',
    ...['utf-8', 'UTF-8', '"utf-8"', '"UTF-8"'].map((charset) => `application/json;charset=${charset}`),
  ])('%s is JSON', (type) => accepts(server, post(PLANT, { 'Content-Type': type }), { body: '{"name":"ü"}' }))

  test.each(['APPLICATION/JSON', 'application/json ; charset=utf-8', 'application/json;charset="UTF-8"'])(
    '%s allows a byte order mark',
    (type) => accepts(server, post(`\ufeff${PLANT}`, { 'Content-Type': type }), { body: '{"name":"ü"}' }),
  )
})

describe('the content coding', () => {
  test.each(['gzip', 'br', 'zstd', 'deflate', 'gzip, gzip', 'tea'])('%s gets a 415 with Accept-Encoding', (coding) =>
    rejects(server, post(PLANT, { 'Content-Encoding': coding }), 41500, { headers: { 'Accept-Encoding': 'identity' } }),
  )

  test('identity is accepted', () => accepts(server, post(PLANT, { 'Content-Encoding': 'identity' })))
})
