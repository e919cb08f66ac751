import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { errorOf, sendRaw, statusOf } from '../helpers/send-raw.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ bodyLimit: 1000 })
})
afterAll(async () => {
  expect(await (await server.call('/plants')).text(), 'a refused request stores nothing').toBe('[]')
  await server.close()
})

async function failureOf(response: Response): Promise<{ status: number; error: number; message: string }> {
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  const body = (await response.json()) as { error: number; message: string }
  expect(Object.keys(body)).toEqual(['error', 'message'])
  return { status: response.status, ...body }
}

describe('malformed JSON answers 400 (40001)', () => {
  test.each([
    '',
    ' ',
    '{',
    '{"id":1,"name":"Ficus"',
    '{"id":1,"name":"Ficus",}',
    '{"id":1,"name":"Ficus"}{}',
    "{'id':1,'name':'Ficus'}",
    '{"id":NaN,"name":"Ficus"}',
    '{"id":007,"name":"Ficus"}',
    '{"id":+1,"name":"Ficus"}',
    '{"id":0x10,"name":"Ficus"}',
    '{"id":1,"name":"Fi\tcus"}',
    '{"id":1,"name":"\\x"}',
    '{"id":1,/**/"name":"Ficus"}',
    '{"id":1,"id":1,"name":"Ficus"}',
    '{"id":1,"\\u0069d":2,"name":"Ficus"}',
    `${'['.repeat(400)}${']'.repeat(400)}`,
  ])('%.40s', async (body) => {
    expect(await failureOf(await server.post(body))).toMatchObject({ status: 400, error: 40001 })
  })

  test.each([
    ['a byte FF', [0xff]],
    ['an overlong NUL', [0xc0, 0x80]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a cut character', [0xe2, 0x82]],
  ])('%s is not UTF-8', async (_what, bytes) => {
    const body = Buffer.concat([Buffer.from('{"id":1,"name":"'), Buffer.from(bytes), Buffer.from('"}')])
    const failure = await failureOf(await server.post(body))
    expect(failure).toMatchObject({ status: 400, error: 40001, message: expect.stringContaining('UTF-8') })
  })
})

describe('a body that is not a NewPlant answers 400 (40002) that names the field', () => {
  test.each([
    ['null', 'The body'],
    ['5', 'The body'],
    ['"x"', 'The body'],
    ['[]', 'The body'],
    ['{}', 'id:'],
    ['{"name":"Ficus"}', 'id:'],
    ['{"id":null,"name":"Ficus"}', 'id:'],
    ['{"id":"1","name":"Ficus"}', 'id:'],
    ['{"id":"","name":"Ficus"}', 'id:'],
    ['{"id":true,"name":"Ficus"}', 'id:'],
    ['{"id":[5],"name":"Ficus"}', 'id:'],
    ['{"id":1.5,"name":"Ficus"}', 'id:'],
    ['{"id":1.00000000000000000001,"name":"Ficus"}', 'id:'],
    ['{"id":9007199254740992.5,"name":"Ficus"}', 'id:'],
    ['{"id":9223372036854775808,"name":"Ficus"}', 'id:'],
    ['{"id":-9223372036854775809,"name":"Ficus"}', 'id:'],
    ['{"id":1e400,"name":"Ficus"}', 'id:'],
    ['{"id":1}', 'name: is required'],
    ['{"id":1,"name":null}', 'name:'],
    ['{"id":1,"name":5}', 'name:'],
    ['{"id":1,"name":"\\u0000"}', 'name:'],
    ['{"id":1,"name":"\\ud800"}', 'name:'],
    ['{"id":1,"name":"\\udc00\\ud800"}', 'name:'],
    ['{"id":1,"name":"Ficus","tag":null}', 'tag:'],
    ['{"id":1,"name":"Ficus","tag":7}', 'tag:'],
    ['{"id":1,"name":"Ficus","tag":"\\udfff"}', 'tag:'],
  ])('%s', async (body, field) => {
    const failure = await failureOf(await server.post(body))
    expect(failure).toMatchObject({ status: 400, error: 40002 })
    expect(failure.message).toContain(field)
  })

  test('several mistakes are named at once, and the answer stays small', async () => {
    const { message } = await failureOf(await server.post('{"name":5,"tag":null}'))
    expect(message).toMatch(/id: .*; name: .*; tag: /)
    expect(message.length).toBeLessThan(500)
  })
})

describe('a media type that is not JSON in UTF-8 answers 415', () => {
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/json;;;',
    'application/problem+json',
  ])('%s', async (type) => {
    const response = await server.post('{"id":1,"name":"Ficus"}', { headers: { 'content-type': type } })
    expect(response.headers.get('accept')).toBe('application/json')
    expect(await failureOf(response)).toMatchObject({ status: 415, error: 41500 })
  })

  test('no Content-Type at all', async () => {
    const answer = await sendRaw(
      server.url,
      `POST /plants HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${server.token}\r\nContent-Length: 2\r\n\r\n{}`,
    )
    expect(statusOf(answer)).toBe(415)
  })

  test.each(['gzip', 'br', 'zstd', 'gzip, gzip'])('a body encoded with %s', async (encoding) => {
    const response = await server.post('{"id":1,"name":"Ficus"}', { headers: { 'content-encoding': encoding } })
    expect(response.headers.get('accept-encoding')).toBe('identity')
    expect(await failureOf(response)).toMatchObject({ status: 415, error: 41500 })
  })
})

describe('a body that is too large answers 413', () => {
  const head = (length: string) =>
    `POST /plants HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer ${server.token}\r\n${length}\r\n\r\n`

  test('at once where it is declared, before it is sent, and closes the connection', async () => {
    const answer = await sendRaw(server.url, head('Content-Length: 1001'), { quiet: 5_000 })
    expect(statusOf(answer)).toBe(413)
    expect(answer).toMatch(/^connection: close\r$/im)
    expect(errorOf(answer)).toMatchObject({ error: 41300, message: expect.stringContaining('1000 bytes') })
  })

  test('as soon as it exceeds the limit where it comes in chunks, and closes the connection', async () => {
    const answer = await sendRaw(server.url, `${head('Transfer-Encoding: chunked')}3e9\r\n${'x'.repeat(1001)}\r\n`, {
      quiet: 5_000,
    })
    expect(statusOf(answer)).toBe(413)
    expect(answer).toMatch(/^connection: close\r$/im)
  })

  test('a body of exactly the limit is read', async () => {
    const body = JSON.stringify({ id: 1, name: '' })
    const failure = await failureOf(await server.post(body.padEnd(999).padEnd(1000, 'x')))
    expect(failure.status).toBe(400)
    expect((await server.post(body.padEnd(1001))).status).toBe(413)
  })
})

describe('a query that is wrong answers 400 (40004) that names the parameter', () => {
  test.each([
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=1e2', 'limit'],
    ['limit=', 'limit'],
    ['limit=abc', 'limit'],
    ['limit=%205', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['cursor=', 'cursor'],
    ['cursor=abc', 'cursor'],
    ['cursor=MQ==', 'cursor'],
    ['cursor=LTE', 'cursor'],
    ['cursor=MQ&cursor=MQ', 'cursor'],
  ])('%s', async (query, parameter) => {
    const failure = await failureOf(await server.call(`/plants?${query}`))
    expect(failure).toMatchObject({ status: 400, error: 40004, message: expect.stringContaining(`${parameter}:`) })
  })

  test('a parameter that nobody knows is ignored', async () => {
    expect((await server.call('/plants?colour=green&a[__proto__]=1')).status).toBe(200)
  })
})

describe('paths and methods', () => {
  test.each([
    '/',
    '/plant',
    '/plants/',
    '/Plants',
    '//plants',
    '/plants%2F',
    '/plants;a',
    '/plants/1/leaves',
    '/%',
    '/__proto__',
  ])('the unknown path %s answers 404, before a token is asked for, and is not repeated', async (path) => {
    const failure = await failureOf(await server.call(path, { token: null }))
    expect(failure).toMatchObject({ status: 404, error: 40400 })
    expect(failure.message).not.toContain('plants;a')
  })

  test.each(['PUT', 'PATCH', 'DELETE', 'PROPFIND', 'QUERY'])(
    '%s on a known path answers 405 with Allow, before a token is asked for',
    async (method) => {
      const response = await server.call('/plants', { method, token: null })
      expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS, POST')
      expect(await failureOf(response)).toMatchObject({ status: 405, error: 40500 })
    },
  )

  test('TRACE answers 405', async () => {
    expect(statusOf(await sendRaw(server.url, 'TRACE /plants HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'))).toBe(
      405,
    )
  })

  test('OPTIONS tells the methods without a token', async () => {
    const response = await server.call('/plants', { method: 'OPTIONS', token: null })
    expect([response.status, response.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS, POST'])
  })

  test('a method override is ignored', async () => {
    const response = await server.call('/plants', { headers: { 'x-http-method-override': 'DELETE' } })
    expect(response.status).toBe(200)
  })
})

describe('requests that are not well-formed HTTP are answered as Error bodies too', () => {
  test.each([
    ['no Host', 'GET /plants HTTP/1.1\r\n\r\n', 400],
    ['two Host headers', 'GET /plants HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n', 400],
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['HTTP/2.0', 'GET /plants HTTP/2.0\r\nHost: x\r\nConnection: close\r\n\r\n', 505],
    ['a header of 20 kB', `GET /plants HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['another expectation', 'POST /plants HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nContent-Length: 0\r\n\r\n', 417],
  ])('%s', async (_what, request, status) => {
    const answer = await sendRaw(server.url, request)
    expect(statusOf(answer)).toBe(status)
    expect(Math.floor(errorOf(answer).error / 100)).toBe(status)
    for (const header of [
      'X-Request-Id',
      'Date',
      'Cache-Control',
      'X-Content-Type-Options',
      'Content-Security-Policy',
    ]) {
      expect(answer).toContain(`\r\n${header}: `)
    }
  })
})

test('every answer has a request id: the caller’s where it is well-formed, else a new one', async () => {
  const offered = async (id: string) =>
    (await server.call('/nowhere', { headers: { 'x-request-id': id } })).headers.get('x-request-id')
  expect(await offered('abc-1.2_3')).toBe('abc-1.2_3')
  expect(await offered('a b')).toMatch(/^[0-9a-f-]{36}$/)
  expect(await offered('x'.repeat(65))).toMatch(/^[0-9a-f-]{36}$/)
})

test('every answer has the headers that keep it private and inert', async () => {
  for (const path of ['/plants', '/nowhere']) {
    const { headers } = await server.call(path)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
    expect(headers.has('x-powered-by')).toBe(false)
    expect(headers.has('etag')).toBe(false)
  }
})
