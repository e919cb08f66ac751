/** The line of each request with ACCESS_LOG=on, and of those that fail to authenticate. */
import { once } from 'node:events'
import { type IncomingMessage, request as openRequest } from 'node:http'
import type { Socket } from 'node:net'
import type { Request } from 'express'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { memoryInUse } from '../../../test/helpers/memory-in-use.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { until } from '../../../test/helpers/until.ts'
import type { Settings } from '../../src/index.ts'
import { authenticationFailed, requestEnded, requestUnparsed } from '../../src/telemetry/events.ts'
import { logAuthenticationFailures, logRequests } from '../../src/telemetry/log/log-requests.ts'
import { createKey, ISSUER, signToken, startKeyServer, startWithIssuer } from '../helpers/accounts/token-issuer.ts'
import { createFileLog, type LogLine } from '../helpers/telemetry/log-lines.ts'
import { exchange, openConnection, openSocket } from '../helpers/wire/connection.ts'
import { get, NO_TOKEN, post, withToken } from '../helpers/wire/requests.ts'

vi.setConfig({ testTimeout: 120_000 })

const PATIENCE = 60_000

/** Starts a server and an access log, which end with the test. */
async function startLogged(settings: Partial<Settings> = {}, start = startTestServer) {
  const log = await createFileLog()
  onTestFinished(logRequests(log.logger, () => true))
  const server = await start({ trustProxy: 1, ...settings }, { logger: log.logger })
  onTestFinished(() => server.close())
  const requests = () => log.eventLines('request')
  return {
    server,
    log,
    requests,
    /** Waits for the line of a request. */
    async find(requestId: string): Promise<LogLine> {
      await until(() => requests().some((line) => line['requestId'] === requestId), PATIENCE)
      return requests().find((line) => line['requestId'] === requestId) as LogLine
    },
  }
}

const withId = (id: string) => ({ 'X-Request-Id': id })

test('a line says who called what, from where, with which result and how much was sent', async () => {
  const { server, find } = await startLogged()
  const { id: tokenId, token } = await server.createToken({ account: 'bob' })
  const wire = post('{"id":1,"name":"Ficus"}', { ...withId('mine'), 'X-Forwarded-For': '192.0.2.7' })
  const text = await exchange(server.url, withToken(wire, token))
  expect(text).toContain('X-Request-Id: mine')
  expect(await find('mine')).toEqual({
    level: 'info',
    time: expect.stringMatching(/Z$/),
    pid: process.pid,
    hostname: expect.any(String),
    event: 'request',
    requestId: 'mine',
    method: 'POST',
    route: '/plants',
    status: 200,
    milliseconds: expect.any(Number),
    bytesSent: text.length,
    account: 'bob',
    tokenId,
    clientAddress: '192.0.2.7',
    msg: 'POST /plants 200',
  })
})

test('the bytes of each response on a connection are its own', async () => {
  const { server, find } = await startLogged()
  const connection = await openConnection(server.url)
  for (const id of ['one', 'two'])
    await connection.send(withToken(get('/plants', { ...withId(id), Connection: null }), server.token))
  const text = await exchange(server.url, withToken(get('/plants', withId('alone')), server.token))
  const lines = [await find('one'), await find('two'), await find('alone')]
  expect(lines[2]?.['bytesSent']).toBe(text.length)
  // "Connection: keep-alive" and "Keep-Alive: timeout=60" instead of "Connection: close".
  expect(lines[1]?.['bytesSent']).toBe(lines[0]?.['bytesSent'])
})

test('a JSON Web Token is named by its issuer and subject', async () => {
  const key = await createKey('first')
  await using keyServer = await startKeyServer(key)
  const { server, find } = await startLogged({}, (settings, observers) =>
    startWithIssuer(keyServer, settings, observers),
  )
  await server.call('/plants', { token: await signToken(key), headers: withId('jwt') })
  expect(await find('jwt')).toMatchObject({ account: 'ada', tokenId: `${ISSUER} ada` })
})

const late = { headersTimeout: 200, requestTimeout: 200 }
const body = '{"id":1,"name":"Ficus"}'
test.each<[what: string, wire: string, expected: LogLine, settings?: Partial<Settings>]>([
  ['without a token', get('/plants', NO_TOKEN), { route: '/plants', status: 401 }],
  ['of an unknown path', get('/nothing?x=1'), { status: 404, msg: 'GET unknown path 404' }],
  ['without Host', get('/plants', { Host: null }), { status: 400 }],
  ['with an invalid body', post('{'), { route: '/plants', status: 400, account: 'alice' }],
  [
    'without the scope',
    post('{}', { Authorization: 'Bearer <reader>' }),
    { route: '/plants', status: 403, account: 'alice' },
  ],
  ['with another expectation', post(body, { Expect: 'wonders' }), { status: 417 }],
  ['that is not HTTP', 'no request\r\n\r\n', { status: 400, msg: 'malformed request 400' }],
  ['with large headers', get('/plants', { X: 'x'.repeat(20_000) }), { status: 431, msg: 'malformed request 431' }],
  ['that is late', 'GET /plants HTTP/1.1\r\n', { status: 408, msg: 'malformed request 408' }, late],
  [
    'whose body is late',
    post(body, { 'Content-Length': '100' }),
    { status: 408, account: 'alice', route: '/plants' },
    late,
  ],
])('a rejected request %s has one line, with the id of its response, and no unknown path', async (...row) => {
  const [, wire, expected, settings] = row
  const { server, find, requests } = await startLogged(settings)
  const { token: reader } = await server.createToken({ scopes: ['read'] })
  const text = await exchange(server.url, withToken(wire, server.token).replace('<reader>', reader))
  const line = await find(/X-Request-Id: (\S+)/.exec(text)?.[1] ?? '')
  expect(text).toContain(` ${expected['status']} `)
  expect(line).toMatchObject({ clientAddress: '127.0.0.1', ...expected })
  expect(JSON.stringify(line)).not.toContain('nothing')
  expect(requests()).toHaveLength(1)
})

describe('a response that is not complete', () => {
  async function fill(server: TestServer): Promise<void> {
    for (let id = 0; id < 40; id++) await server.post(JSON.stringify({ id, name: 'x'.repeat(900_000) }))
  }

  const unfinished = { ...withId('sending'), 'Content-Length': '100', Expect: '100-continue' }

  test.each<[what: string, id: string, wire: string, end: (server: TestServer, socket: Socket) => unknown]>([
    [
      'a client disconnects while it is reading',
      'reading',
      get('/plants', withId('reading')),
      (_, socket) => socket.destroy(),
    ],
    ['a client disconnects while it is sending', 'sending', post(body, unfinished), (_, socket) => socket.destroy()],
    ['the shutdown aborts it', 'sending', post(body, unfinished), (server) => server.close()],
  ])('has the status 499 if %s', async (_what, id, wire, end) => {
    const { server, find } = await startLogged({ shutdownTimeout: 100 })
    if (id === 'reading') await fill(server)
    const socket = await openSocket(server.url)
    socket.write(withToken(wire, server.token))
    await once(socket, 'data')
    await end(server, socket)
    expect(await find(id)).toMatchObject({
      status: 499,
      account: 'alice',
      clientAddress: '127.0.0.1',
      route: '/plants',
    })
  })

  test('has the status of the failure if the server failed, and the error is logged with the same id', async () => {
    const { server, find, log } = await startLogged()
    await fill(server)
    const headers = { authorization: `Bearer ${server.token}`, 'x-request-id': 'broken' }
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      openRequest(`${server.url}/plants`, { headers }, resolve).on('error', reject).end()
    })
    await once(response, 'readable')
    await runSql(server.databaseUrl, 'ALTER TABLE "Plant" RENAME TO "Gone"')
    await expect(response.toArray()).rejects.toThrow('aborted')
    expect(await find('broken')).toMatchObject({ status: 500, account: 'alice' })
    const lines = log.lines().map((line) => JSON.parse(line))
    const errors = lines.filter(({ level }) => level === 'error')
    expect(errors).toMatchObject([{ requestId: 'broken', err: expect.anything() }])
  })
})

describe('of requests that cost their client next to nothing', () => {
  const publishEnded = (status: number, identity?: object) => {
    const request = { requestId: 'many', socket: {}, identity } as unknown as Request
    requestEnded.publish({ request, status, seconds: 0, bytesSent: 0 })
  }
  const publishUnparsed = () => requestUnparsed.publish({ requestId: 'many', status: 400, address: undefined })

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    return () => void vi.useRealTimers()
  })

  test.each([
    ['malformed', publishUnparsed],
    ['without a valid token', () => publishEnded(401)],
    ['beyond a rate limit', () => publishEnded(429, { account: 'alice' })],
    ['shed', () => publishEnded(503, { account: 'alice' })],
  ])('ten have a line each second, and the others are counted: %s', async (_what, publish) => {
    const log = await createFileLog()
    const end = logRequests(log.logger, () => true)
    for (const seconds of [1, 2, 3]) {
      for (let count = 0; count < 300; count++) publish()
      expect(log.eventLines('request')).toHaveLength(10 * seconds)
      vi.advanceTimersByTime(1_000)
      expect(log.eventLines('requests omitted')).toHaveLength(seconds)
    }
    for (let count = 0; count < 20; count++) publishEnded(200, { account: 'alice' })
    expect(log.eventLines('request')).toHaveLength(50)
    end()
    expect(log.eventLines('requests omitted')).toMatchObject([{ omitted: 290 }, { omitted: 290 }, { omitted: 290 }])
  })

  test('none has a line while too many wait, and they are counted when there is room again', async () => {
    const log = await createFileLog()
    let hasRoom = false
    onTestFinished(logRequests(log.logger, () => hasRoom))
    for (let count = 0; count < 3; count++) publishUnparsed()
    vi.advanceTimersByTime(5_000)
    expect(log.lines()).toEqual([])
    hasRoom = true
    vi.advanceTimersByTime(1_000)
    expect(log.eventLines('requests omitted')).toMatchObject([{ omitted: 3 }])
    publishUnparsed()
    expect(log.eventLines('request')).toHaveLength(1)
  })
})

test('an address is written as a proxy reports it, without its port, or else that of the connection', async () => {
  const { server, find } = await startLogged()
  const cases: [reported: string, written: string][] = [
    ['192.0.2.7:4711', '192.0.2.7'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['', '127.0.0.1'],
    ...['not an address', 'pst_0123456789', '"}\u0085', 'dead.beef.cafe:face', '1.2.3.4.5'].map(
      (text): [string, string] => [text, '127.0.0.1'],
    ),
  ]
  for (const [index, [reported, written]] of cases.entries()) {
    const headers = { ...withId(`id${index}`), 'X-Forwarded-For': reported }
    await exchange(server.url, withToken(get('/plants', headers), server.token))
    expect((await find(`id${index}`))['clientAddress'], reported).toBe(written)
  }
})

test('the log says which addresses failed to authenticate, why and how often, also beyond AUTH_FAILURE_LIMIT', async () => {
  const log = await createFileLog('error')
  const end = logAuthenticationFailures(log.logger)
  await using server = await startTestServer({ trustProxy: 1, authFailureLimit: { requests: 3, seconds: 60 } })
  const { id, token: revoked } = await server.createToken()
  await server.revoke(id)
  const statusOf = async (address: string, token: string | null) =>
    (await server.call('/plants', { token, headers: { 'x-forwarded-for': address } })).status
  for (const [address, token] of [
    ['2001:db8::1', 'pst_unknown'],
    ['192.0.2.2', null],
    ['192.0.2.2', 'pst_unknown'],
    ['192.0.2.2', revoked],
    ['no address, pst_0123', null],
  ] as const) {
    expect(await statusOf(address, token)).toBe(401)
  }
  expect(await statusOf('192.0.2.2', 'pst_unknown')).toBe(429)
  // Neither a valid token without the scope nor an unknown path is one.
  const reader = await server.createToken({ scopes: ['read'] })
  expect((await server.post('{}', { token: reader.token })).status).toBe(403)
  expect((await server.call('/nothing', { token: null })).status).toBe(404)
  end()
  const [line, ...others] = log.lines()
  expect(JSON.parse(line ?? '')).toMatchObject({
    level: 'info',
    event: 'authentication failed',
    failed: 6,
    addresses: [
      { address: '192.0.2.2', failed: 4, codes: { 40101: 1, 40102: 2, 40103: 1 } },
      { address: '2001:db8:0:0::/64', failed: 1, codes: { 40102: 1 } },
      { address: '127.0.0.1', failed: 1, codes: { 40101: 1 } },
    ],
  })
  expect(others).toEqual([])
  expect(line).not.toContain('pst_')
})

test('the log names ten addresses and counts the others, of any number, in little memory', async () => {
  const log = await createFileLog()
  const end = logAuthenticationFailures(log.logger)
  const before = memoryInUse()
  const flood = 200_000
  for (let count = 0; count < 20; count++) authenticationFailed.publish({ code: 40102, address: '192.0.2.1' })
  for (let index = 0; index < flood; index++) {
    authenticationFailed.publish({ code: 40102, address: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}` })
  }
  expect(memoryInUse() - before).toBeLessThan(20 * 2 ** 20)
  end()
  const lines = log.eventLines('authentication failed')
  expect(lines.reduce((sum, { failed }) => sum + Number(failed), 0)).toBe(flood + 20)
  const [line] = lines
  expect(line).toMatchObject({ addresses: [{ address: '192.0.2.1', failed: 20 }, ...Array(9).fill({ failed: 1 })] })
  expect(line?.['others']).toBe(Number(line?.['failed']) - 29)
})
