/** What clients send in confidence is in no line of the log, at any level. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { generateToken } from '../../src/accounts/token-format.ts'
import { AUDIENCE, createKey, ISSUER, signToken, startKeyServer } from '../helpers/accounts/token-issuer.ts'
import { readLines } from '../helpers/telemetry/log-lines.ts'
import { startLogged } from '../helpers/telemetry/start-logged.ts'
import { exchange } from '../helpers/wire/connection.ts'
import { get, post, request } from '../helpers/wire/requests.ts'

test('tokens, cursors and plants are in no line of the log', async () => {
  const key = await createKey('first')
  const { jwtJwksUrl } = (await startKeyServer(key)).settings
  const { server, call, create, token, end } = await startLogged({
    LOG_LEVEL: 'trace',
    ACCESS_LOG: 'on',
    TRUST_PROXY: '1',
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    JWT_JWKS_URL: jwtJwksUrl,
  })
  for (const id of [1, 2]) expect((await create(id)).status).toBe(200)
  const page = await call('/plants?limit=1')
  const cursor = /cursor=([\w-]+)/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
  expect(cursor.length).toBeGreaterThan(20)
  expect((await call(`/plants?limit=1&cursor=${cursor}`)).status).toBe(200)

  const tokens = [token, generateToken(), await signToken(key), await signToken(key, { aud: 'others' })]
  for (const each of tokens) {
    for (const wire of placesOf(each)) expect(await exchange(server.url, wire)).toMatch(/^HTTP\/1\.1 \d{3} /)
  }
  await end()

  const lines = readLines(server.output())
  expect(lines.filter(({ event }) => event === 'request').length).toBeGreaterThan(10)
  const written = server.output()
  const secrets = tokens.flatMap((each) => [each, ...each.split('.'), hash(each)]).filter(({ length }) => length > 20)
  for (const secret of [...secrets, cursor, 'Ficus', 'access_token']) {
    expect(written.includes(secret), `${secret} is not written`).toBe(false)
  }
})

/** Returns requests with a token wherever a client may put one. */
function placesOf(token: string): string[] {
  const credentials = { Authorization: `Bearer ${token}` }
  const body = `{"id":3,"name":"${token}","tag":"${token}"}`
  return [
    get('/plants', credentials),
    post(body, credentials),
    post(`{"${token}":1,"id":"${token}"`, credentials),
    get('/plants', { Authorization: `Basic ${token}` }),
    get(`/plants?access_token=${token}`),
    get(`/plants?limit=${token}&cursor=${token}`, credentials),
    get(`/plants/${token}`),
    get(`/%70lants/${token}%zz`, credentials),
    get('/plants', { ...credentials, 'X-Request-Id': token }),
    get('/plants', { ...credentials, 'X-Forwarded-For': token }),
    get('/plants', { ...credentials, 'X-Forwarded-Host': token, 'X-Forwarded-Proto': token }),
    get('/plants', { ...credentials, Cookie: `token=${token}`, 'User-Agent': token, Referer: `/?${token}` }),
    get('/plants', { ...credentials, traceparent: token, tracestate: `a=${token}`, baggage: `token=${token}` }),
    get('/plants', { ...credentials, Expect: token }),
    request({ method: 'OPTIONS', headers: { ...credentials, Origin: token } }),
    `${token} /plants HTTP/1.1\r\n\r\n`,
    `GET /plants HTTP/1.1\r\nAuthorization ${token}\r\n\r\n`,
  ]
}

function hash(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
