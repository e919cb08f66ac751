import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { generateToken } from '../../src/accounts/token-format.ts'
import { errorOf, sendRaw, statusOf } from '../helpers/send-raw.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

function withAuthorization(authorization: string): Promise<Response> {
  return fetch(`${server.url}/plants`, { headers: { authorization } })
}

async function numberOf(response: Response): Promise<number> {
  return ((await response.json()) as { error: number }).error
}

describe.each(['GET', 'POST'])('%s /plants', (method) => {
  test('without a token answers 401 with a challenge that names no error', async () => {
    const response = await server.call('/plants', { method, token: null })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="plant-store"')
    expect(await numberOf(response)).toBe(40101)
  })

  test('with a well-formed token that nobody was given answers 401', async () => {
    const response = await server.call('/plants', { method, token: generateToken() })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="plant-store", error="invalid_token"')
    expect(await numberOf(response)).toBe(40102)
  })
})

test('another scheme is no bearer token', async () => {
  expect(await numberOf(await withAuthorization('Basic dXNlcjpwYXNz'))).toBe(40101)
})

test.each(['bearer', 'BEARER', 'Bearer', 'bEaReR'])('the scheme %s is accepted', async (scheme) => {
  expect((await withAuthorization(`${scheme} ${server.token}`)).status).toBe(200)
})

test('several spaces before the token are accepted', async () => {
  expect((await withAuthorization(`Bearer    ${server.token}`)).status).toBe(200)
})

test.each(['Bearer', 'Bearer a,b', 'Bearer a b', 'Bearer ü', 'Bearer\tabc', `Bearer ${'a'.repeat(8000)}`])(
  'the malformed %.20s answers 401',
  async (authorization) => {
    const response = await withAuthorization(authorization)
    expect(response.status).toBe(401)
    expect(await numberOf(response)).toBe(40102)
  },
)

test('a token with one character changed answers 401', async () => {
  const last = server.token.at(-1) === 'a' ? 'b' : 'a'
  expect(await numberOf(await withAuthorization(`Bearer ${server.token.slice(0, -1)}${last}`))).toBe(40102)
})

test('a token in the query is ignored', async () => {
  expect((await server.call(`/plants?access_token=${server.token}`, { token: null })).status).toBe(401)
})

test('an expired token answers 401 with its own number', async () => {
  const { token } = await server.createToken({ expiresAt: new Date(Date.now() - 1) })
  const response = await server.call('/plants', { token })
  expect(response.status).toBe(401)
  expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"')
  expect(await numberOf(response)).toBe(40103)
})

test('a token expires while it is in use', async () => {
  const expiresAt = new Date(Date.now() + 400)
  const { token } = await server.createToken({ expiresAt })
  expect((await server.call('/plants', { token })).status).toBe(200)
  await sleep(expiresAt.getTime() - Date.now() + 1)
  expect((await server.call('/plants', { token })).status).toBe(401)
})

test('a revoked token is refused within one second, in every process', async () => {
  await using other = await startTestServer({ databaseUrl: server.databaseUrl })
  const { id, token } = await server.createToken()
  const statuses = () => Promise.all([server, other].map(async ({ call }) => (await call('/plants', { token })).status))
  expect(await statuses()).toEqual([200, 200])
  await other.revoke(id)
  await sleep(1_000)
  expect(await statuses()).toEqual([401, 401])
})

test('a token without the scope write answers 403 on POST, and may GET', async () => {
  const { token } = await server.createToken({ scopes: ['read'] })
  const refused = await server.post('{"id":1,"name":"Ficus"}', { token })
  expect(refused.status).toBe(403)
  expect(refused.headers.get('www-authenticate')).toBe(
    'Bearer realm="plant-store", error="insufficient_scope", scope="write"',
  )
  expect(await numberOf(refused)).toBe(40301)
  expect((await server.call('/plants', { token })).status).toBe(200)
})

test('a token without the scope read answers 403 on GET, and may POST', async () => {
  const { token } = await server.createToken({ scopes: ['write'], account: 'writer' })
  expect((await server.call('/plants', { token })).status).toBe(403)
  expect((await server.post('{"id":1,"name":"Ficus"}', { token })).status).toBe(200)
})

test('two Authorization headers answer 400', async () => {
  const line = `Authorization: Bearer ${server.token}\r\n`
  const answer = await sendRaw(server.url, `GET /plants HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${line}${line}\r\n`)
  expect(statusOf(answer)).toBe(400)
  expect(errorOf(answer).error).toBe(40000)
})

test('401 comes before the body is read and closes the connection', async () => {
  const answer = await sendRaw(
    server.url,
    'POST /plants HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n',
  )
  expect(statusOf(answer)).toBe(401)
  expect(answer).toMatch(/^connection: close\r$/im)
})

test('a body that waits for 100-continue is only asked for once the request is let in', async () => {
  const head = (token: string) =>
    `POST /plants HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 23\r\nExpect: 100-continue\r\n` +
    `Connection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`
  expect(statusOf(await sendRaw(server.url, head(generateToken())))).toBe(401)
  expect(await sendRaw(server.url, head(server.token), { quiet: 200 })).toBe('HTTP/1.1 100 Continue\r\n\r\n')
})
