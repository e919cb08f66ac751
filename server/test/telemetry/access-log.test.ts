/** The line of each request with ACCESS_LOG=on. */
import { once } from 'node:events'
import { type IncomingMessage, request as openRequest } from 'node:http'
import type { Request } from 'express'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import type { Settings } from '../../src/index.ts'
import { requestEnded, requestUnparsed } from '../../src/telemetry/events.ts'
import { logRequests } from '../../src/telemetry/log/log-requests.ts'
import { createKey, ISSUER, signToken, startKeyServer, startWithIssuer } from '../helpers/accounts/token-issuer.ts'
import { createFileLog, eventLines, type LogLine } from '../helpers/telemetry/log-lines.ts'
import { exchange, openConnection, openSocket } from '../helpers/wire/connection.ts'
import { get, NO_TOKEN, post, withToken } from '../helpers/wire/requests.ts'

// Some start processes, which takes long on a busy machine.
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
  const { text } = await exchange(server.url, withToken(wire, token))
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
  const { text } = await exchange(server.url, withToken(get('/plants', withId('alone')), server.token))
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

test('a rejected request has a line with its status, and no unknown path', async () => {
  const { server, find } = await startLogged()
  const { token: reader } = await server.createToken({ scopes: ['read'] })
  const body = '{"id":1,"name":"Ficus"}'
  const cases: [wire: string, expected: LogLine, token?: string][] = [
    [get('/plants', NO_TOKEN), { route: '/plants', status: 401 }],
    [get('/nothing?x=1'), { status: 404, msg: 'GET unknown path 404' }],
    [get('/plants', { Host: null }), { status: 400 }],
    [post('{'), { route: '/plants', status: 400, account: 'alice' }],
    [post('{}'), { route: '/plants', status: 403, account: 'alice' }, reader],
    [post(body, { Expect: 'wonders' }), { status: 417 }],
  ]
  for (const [index, [wire, expected, token = server.token]] of cases.entries()) {
    const { text } = await exchange(
      server.url,
      withToken(wire.replace('\r\n', `\r\nX-Request-Id: id${index}\r\n`), token),
    )
    expect(text).toContain(` ${expected['status']} `)
    const line = await find(`id${index}`)
    expect(line).toMatchObject({ clientAddress: '127.0.0.1', ...expected })
    expect(JSON.stringify(line)).not.toContain('nothing')
  }
})

const late = post('{"id":1,"name":"Ficus"}', { 'Content-Length': '100' })
test.each<[what: string, wire: string, expected: LogLine]>([
  ['is not HTTP', 'no request\r\n\r\n', { status: 400, msg: 'malformed request 400' }],
  [
    'has headers that are too large',
    get('/plants', { 'X-Large': 'x'.repeat(20_000) }),
    { status: 431, msg: 'malformed request 431' },
  ],
  ['does not arrive in time', 'GET /plants HTTP/1.1\r\n', { status: 408, msg: 'malformed request 408' }],
  ['has a body that is late', late, { status: 408, account: 'alice', route: '/plants' }],
])('a request that %s has one line, with the id of its response', async (_what, wire, expected) => {
  const { server, find, requests } = await startLogged({ headersTimeout: 200, requestTimeout: 200 })
  const { text } = await exchange(server.url, withToken(wire, server.token))
  const line = await find(/X-Request-Id: (\S+)/.exec(text)?.[1] ?? '')
  expect(line).toMatchObject({ clientAddress: '127.0.0.1', ...expected })
  expect(requests()).toHaveLength(1)
})

describe('a response that is not complete', () => {
  async function fill(server: TestServer): Promise<void> {
    for (let id = 0; id < 40; id++) await server.post(JSON.stringify({ id, name: 'x'.repeat(900_000) }))
  }

  const unfinished = { ...withId('sending'), 'Content-Length': '100', Expect: '100-continue' }

  test.each([
    ['reading', get('/plants', withId('reading'))],
    ['sending', post('{"id":1,"name":"Ficus"}', unfinished)],
  ])('has the status 499 if the client disconnects while it is %s', async (id, wire) => {
    const { server, find } = await startLogged()
    if (id === 'reading') await fill(server)
    const socket = await openSocket(server.url)
    socket.write(withToken(wire, server.token))
    await once(socket, 'data')
    socket.destroy()
    expect(await find(id)).toMatchObject({ status: 499, account: 'alice', clientAddress: '127.0.0.1' })
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
    const request = { requestId: 'many', ip: '192.0.2.1', identity } as unknown as Request
    requestEnded.publish({ request, method: 'GET', route: '/plants', status, seconds: 0, bytesSent: 0 })
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

test('an address is written as a proxy reports it, without its port; what is not an address is left out', async () => {
  const { server, find } = await startLogged()
  const cases: [reported: string, written: string | undefined][] = [
    ['192.0.2.7:4711', '192.0.2.7'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['', '127.0.0.1'],
    ...['not an address', 'pst_0123456789', '"}\u0085', 'dead.beef.cafe:face', '1.2.3.4.5'].map(
      (text): [string, undefined] => [text, undefined],
    ),
  ]
  for (const [index, [reported, written]] of cases.entries()) {
    const headers = { ...withId(`id${index}`), 'X-Forwarded-For': reported }
    await exchange(server.url, withToken(get('/plants', headers), server.token))
    expect((await find(`id${index}`))['clientAddress'], reported).toBe(written)
  }
})

test('a server with ACCESS_LOG=on writes lines, also of a request that its shutdown aborts', async () => {
  const environment = { ACCESS_LOG: 'on', SHUTDOWN_TIMEOUT: '100ms' }
  const { server, token } = await startWithToken(temporaryFolder(), 'logged', environment)
  const socket = await openSocket(server.url)
  const headers = { ...withId('aborted'), 'Content-Length': '100', Expect: '100-continue' }
  socket.write(withToken(post('{"id":1,"name":"Ficus"}', headers), token))
  // The server waits for the rest of the body.
  await once(socket, 'data')
  await fetch(`${server.url}/nothing`, { headers: withId('unknown') })
  await server.end()
  expect(eventLines(server.output(), 'request')).toMatchObject([
    { requestId: 'unknown', status: 404 },
    { requestId: 'aborted', status: 499, account: 'alice', route: '/plants' },
  ])
})
