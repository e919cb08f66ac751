/** What clients send in confidence is in no line of the log, at any level. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { createPlant, plantOf } from '../../../test/helpers/server/start-writing.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { generateToken } from '../../src/accounts/tokens.ts'
import { AUDIENCE, createKey, ISSUER, signToken, startKeyServer } from '../helpers/accounts/token-issuer.ts'
import { readLines } from '../helpers/telemetry/log-lines.ts'
import { exchange } from '../helpers/wire/connection.ts'
import { get, post } from '../helpers/wire/requests.ts'

test('tokens, cursors and plants are in no line of the log', async () => {
  const key = await createKey('first')
  const { jwtJwksUrl } = (await startKeyServer(key)).settings
  const { server, token } = await startWithToken(temporaryFolder(), 'plants', {
    NODE_ENV: 'production',
    LOG_LEVEL: 'trace',
    TRUST_PROXY: '1',
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    JWT_JWKS_URL: jwtJwksUrl,
  })
  for (const id of [1, 2]) expect((await createPlant(server.url, token, id)).status).toBe(200)
  const list = (query: string) =>
    fetch(`${server.url}/plants${query}`, { headers: { authorization: `Bearer ${token}` } })
  const cursor = /cursor=([\w-]+)/.exec((await list('?limit=1')).headers.get('link') ?? '')?.[1] ?? ''
  expect(cursor.length).toBeGreaterThan(20)
  expect((await list(`?limit=1&cursor=${cursor}`)).status).toBe(200)

  const tokens = [token, generateToken(), await signToken(key), await signToken(key, { aud: 'others' })]
  for (const each of tokens) {
    for (const wire of placesOf(each)) expect(await exchange(server.url, wire)).toMatch(/^HTTP\/1\.1 \d{3} /)
  }
  expect(await server.end()).toBe(0)

  const lines = readLines(server.output())
  expect(lines.map(({ event }) => event)).toContain('token rejected')
  const written = server.output()
  const secrets = tokens.flatMap((each) => [each, ...each.split('.'), hash(each)]).filter(({ length }) => length > 20)
  for (const secret of [...secrets, cursor, plantOf(1).name, 'access_token']) {
    expect(written.includes(secret), `${secret} is not written`).toBe(false)
  }
})

/** Returns requests with a token wherever a client may put one. */
function placesOf(token: string): string[] {
  const credentials = { Authorization: `Bearer ${token}` }
  const body = `{"id":3,"name":"${token}","tag":"${token}"}`
  return [
    post(body, credentials),
    post(`{"${token}":1,"id":"${token}"`, credentials),
    get('/plants', { Authorization: `Basic ${token}` }),
    get(`/plants?limit=${token}&cursor=${token}`, credentials),
    get(`/%70lants/${token}%zz`, credentials),
    get('/plants', { ...credentials, 'X-Request-Id': token }),
    get('/plants', { ...credentials, 'X-Forwarded-For': token }),
    get('/plants', { ...credentials, Cookie: `token=${token}`, 'User-Agent': token, Referer: `/?${token}` }),
    get('/plants', { ...credentials, traceparent: token, tracestate: `a=${token}`, baggage: `token=${token}` }),
    `${token} /plants HTTP/1.1\r\n\r\n`,
  ]
}

function hash(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
