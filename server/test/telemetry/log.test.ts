/**
 * What a line of the log looks like, where lines go, and that none has a secret, or an event
 * that log.md does not explain.
 */
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { newDatabase, runSql } from '../../../test/helpers/database/databases.ts'
import { readGuide } from '../../../test/helpers/production/guide.ts'
import { createPlant, plantOf } from '../../../test/helpers/server/call-plants.ts'
import { startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { generateToken, hashToken } from '../../src/accounts/tokens.ts'
import { auditLogger, createLog } from '../../src/telemetry/log.ts'
import { exchange } from '../helpers/connection.ts'
import { AUDIENCE, createKey, ISSUER, signToken, startTokenIssuer } from '../helpers/issuer.ts'
import { createMemoryLog, eventLines, readLines } from '../helpers/log-lines.ts'
import { get, post } from '../helpers/requests.ts'
import { runInProcess } from '../helpers/run-in-process.ts'

test.each(['x', '\u0000', '🪴'])('a line with long texts in any field has at most 15 kB: %j', async (character) => {
  const { logger, written } = await createMemoryLog()
  const long = `begin ${character.repeat(150_000)}`
  const details = { detail: long, list: Array(9).fill(long), cause: new Error(long) }
  logger.error({ err: Object.assign(new Error(long), details), requestId: 'a-1' }, long)
  expect(Buffer.byteLength(written())).toBeLessThanOrEqual(15_000)
  const begin = expect.stringMatching(/^begin.*…$/)
  expect(JSON.parse(written())).toMatchObject({ level: 'error', requestId: 'a-1', err: { detail: begin }, msg: begin })
})

test('while nobody reads the log, 1 MB waits, later lines are dropped whole, which the next one reports, and a flush gives up', async () => {
  let text = ''
  let read: (() => void) | undefined
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk
      if (read) done()
      else read = done
    },
  })
  const { logger, flush } = await createLog('info', stream)
  for (let line = 0; line < 2_000; line++) logger.info('x'.repeat(1_000))
  expect(stream.writableLength).toBeGreaterThan(1_000_000)
  expect(await flush()).toBe(false)
  read?.()
  logger.info('next')
  expect(await flush()).toBe(true)
  const [dropped, next] = readLines(text).slice(-2)
  expect(next).toMatchObject({ msg: 'next' })
  const count = text.split('\n').length - 3
  expect(count * 1_100).toBeGreaterThan(1_000_000)
  expect(dropped).toMatchObject({ level: 'warn', event: 'lines dropped', lines: 2_000 - count })
})

test('LOG_LEVEL does not hide audit events, unless it is silent', async () => {
  for (const level of ['fatal', 'error', 'warn', 'info', 'silent']) {
    const { logger, lines } = await createMemoryLog(level)
    auditLogger(logger).info('audited')
    expect(lines(), level).toHaveLength(level === 'silent' ? 0 : 1)
  }
})

const EVENTS = ['empty database', 'request', 'requests rejected', 'token created', 'token rejected', 'token revoked']

test('in production all output is the log, which has no token, cursor or plant, and the guide explains every event', async () => {
  const key = await createKey('first')
  const DATABASE_URL = await newDatabase()
  const server = await startServerProcess({
    DATABASE_URL,
    NODE_ENV: 'production',
    LOG_LEVEL: 'trace',
    TRUST_PROXY: '1',
    RATE_LIMIT: '100/1h',
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    JWT_JWKS_URL: (await startTokenIssuer(key)).keysUrl,
  })
  const [greeting] = eventLines(server.output(), 'empty database')
  const [, command = ''] =
    /^the plant store is empty: .*"npm run --silent plant-store -- (.*)" and the settings of this server/.exec(
      String(greeting?.['msg']),
    ) ?? []
  expect((await runInProcess(command.split(' '), { DATABASE_URL })).stdout).toMatch(/^pst_\w{49}\n$/)
  const run = (...args: string[]) => runInProcess(['token', ...args], { DATABASE_URL })
  const created = await run('create', '--account', 'alice', '--json')
  const { id, token } = JSON.parse(created.stdout)
  for (const plant of [1, 2]) expect((await createPlant(server.url, token, plant)).status).toBe(200)
  const list = (query: string) =>
    fetch(`${server.url}/plants${query}`, { headers: { authorization: `Bearer ${token}` } })
  const cursor = /cursor=([\w-]+)/.exec((await list('?limit=1')).headers.get('link') ?? '')?.[1] ?? ''
  expect(cursor.length).toBeGreaterThan(20)
  expect((await list(`?limit=1&cursor=${cursor}`)).status).toBe(200)

  const tokens: string[] = [token, generateToken(), await signToken(key), await signToken(key, { aud: 'others' })]
  for (const wire of tokens.flatMap(placesOf)) expect(await exchange(server.url, wire)).toMatch(/^HTTP\/1\.1 \d{3} /)
  await runSql(DATABASE_URL, 'ALTER TABLE "Plant" RENAME TO "Gone"')
  const failed = await list('')
  expect((await createPlant(server.url, token, 3)).status).toBe(503)
  for (let status = 0; status !== 429; ) ({ status } = await list(''))
  const revoked = await run('revoke', id)
  expect(await server.end()).toBe(0)

  const written = created.stderr + server.output() + revoked.stderr
  expect(readLines(written)).toHaveLength(written.trimEnd().split('\n').length)
  expect(written).not.toContain('pst_')
  const secrets = tokens
    .flatMap((each) => [each, ...each.split('.'), hashToken(each)])
    .filter(({ length }) => length > 20)
  for (const secret of [...secrets, cursor, plantOf(1).name, plantOf(3).name, 'access_token']) {
    expect(written.includes(secret), `${secret} is not written`).toBe(false)
  }

  const lines = readLines(written)
  const events = new Set(lines.flatMap(({ event }) => event ?? []))
  expect([...events].sort()).toEqual(EVENTS)
  const guide = readGuide('log.md')
  for (const event of events) expect(guide).toContain(`\`${event}\``)
  const ofFailed = lines.filter(({ requestId }) => requestId === failed.headers.get('x-request-id'))
  const time = expect.stringMatching(/^[\d-]{10}T[\d:]{8}\.\d{3}Z$/)
  const request = { method: 'GET', path: '/plants', status: 503, error: 50300, account: 'alice', tokenId: id }
  expect(ofFailed).toMatchObject([
    { level: 'warn', err: { stack: expect.any(String) } },
    { level: 'debug', event: 'request', ...request, milliseconds: expect.any(Number), time },
  ])
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
    get(`/plants?access_token=${token}`),
    get(`/%70lants/${token}%zz`, credentials),
    get('/plants', { ...credentials, Origin: `https://${token}.example.com` }),
    get('/plants', { ...credentials, 'X-Request-Id': token }),
    get('/plants', { ...credentials, 'X-Forwarded-For': token }),
    get('/plants', { ...credentials, Cookie: `token=${token}`, 'User-Agent': token, Referer: `/?${token}` }),
    get('/plants', { ...credentials, traceparent: token, tracestate: `a=${token}`, baggage: `token=${token}` }),
    `${token} /plants HTTP/1.1\r\n\r\n`,
  ]
}
