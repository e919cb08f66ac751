/** The line of each request with ACCESS_LOG=on. */
import { once } from 'node:events'
import { type IncomingMessage, request as openRequest } from 'node:http'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { newDatabase, runSql } from '../../../test/helpers/database/databases.ts'
import { runCommand, startServerProcess, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import type { Settings } from '../../src/index.ts'
import { requestUnparsed } from '../../src/telemetry/events.ts'
import { startAccessLog } from '../../src/telemetry/log/access-log.ts'
import { createKey, ISSUER, signToken, startKeyServer, startWithIssuer } from '../helpers/accounts/token-issuer.ts'
import { createFileLog, eventLines, type LogLine } from '../helpers/telemetry/log-lines.ts'
import { exchange, openConnection, openSocket } from '../helpers/wire/connection.ts'
import { get, NO_TOKEN, post, withToken } from '../helpers/wire/requests.ts'

// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

const PATIENCE = 60_000

/** Starts a server and an access log, which ends with the test. */
async function startLogged(settings: Partial<Settings> = {}, start = startTestServer) {
  const log = await createFileLog()
  onTestFinished(startAccessLog(log.logger))
  const server = await start(settings, { logger: log.logger })
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
  const { server, find } = await startLogged({ trustProxy: 1 })
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

describe('a rejected request', () => {
  const cases: [string, string, LogLine][] = [
    ['without a token', get('/plants', { ...withId('id'), ...NO_TOKEN }), { route: '/plants', status: 401 }],
    ['for an unknown path', get('/nothing?x=1', withId('id')), { status: 404, msg: 'GET unknown path 404' }],
    ['without Host', get('/plants', { ...withId('id'), Host: null }), { status: 400 }],
    ['with an invalid body', post('{', withId('id')), { route: '/plants', status: 400, account: 'alice' }],
    ['that the account may not send', post('{}', withId('id')), { route: '/plants', status: 403, account: 'alice' }],
  ]
  test.each(cases)('%s has a line with its status', async (_what, wire, expected) => {
    const { server, find } = await startLogged()
    const { token } = await server.createToken({ scopes: expected['status'] === 403 ? ['read'] : ['read', 'write'] })
    await exchange(server.url, withToken(wire, token))
    const line = await find('id')
    expect(line).toMatchObject({ clientAddress: '127.0.0.1', ...expected })
    expect(JSON.stringify(line)).not.toContain('nothing')
  })

  test.each([
    ['is not HTTP', 'no request\r\n\r\n', 400],
    ['has headers that are too large', get('/plants', { 'X-Large': 'x'.repeat(20_000) }), 431],
    ['does not arrive in time', 'GET /plants HTTP/1.1\r\n', 408],
  ])('that %s has a line with the id of its response', async (_what, wire, status) => {
    const { server, find } = await startLogged({ headersTimeout: 200, requestTimeout: 200 })
    const { text } = await exchange(server.url, wire)
    const line = await find(/X-Request-Id: (\S+)/.exec(text)?.[1] ?? '')
    expect(line).toMatchObject({ status, clientAddress: '127.0.0.1', msg: `malformed request ${status}` })
  })

  test('whose body does not arrive in time has one line, with its account', async () => {
    const { server, find, requests } = await startLogged({ headersTimeout: 200, requestTimeout: 200 })
    const wire = post('{"id":1,"name":"Ficus"}', { ...withId('slow'), 'Content-Length': '100' })
    const { text } = await exchange(server.url, withToken(wire, server.token))
    expect(text).toContain('X-Request-Id: slow')
    expect(await find('slow')).toMatchObject({ status: 408, account: 'alice', route: '/plants' })
    expect(requests()).toHaveLength(1)
  })
})

describe('a response that is not complete', () => {
  async function fill(server: TestServer): Promise<void> {
    for (let id = 0; id < 40; id++) await server.post(JSON.stringify({ id, name: 'x'.repeat(900_000) }))
  }

  test('has the status 499 if the client has disconnected', async () => {
    const { server, find } = await startLogged()
    await fill(server)
    const socket = await openSocket(server.url)
    socket.write(withToken(get('/plants', withId('gone')), server.token))
    await once(socket, 'data')
    socket.destroy()
    expect(await find('gone')).toMatchObject({ status: 499, account: 'alice', clientAddress: '127.0.0.1' })
  })

  test('has the status 499 if the client disconnects while it sends the body', async () => {
    const { server, find } = await startLogged()
    const socket = await openSocket(server.url)
    const wire = post('{"id":1,"name":"Ficus"}', { ...withId('gone'), 'Content-Length': '100', Expect: '100-continue' })
    socket.write(withToken(wire, server.token))
    await once(socket, 'data')
    socket.destroy()
    expect(await find('gone')).toMatchObject({ status: 499, account: 'alice' })
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
    const errors = log
      .lines()
      .map((line) => JSON.parse(line))
      .filter(({ level }) => level === 'error')
    expect(errors).toMatchObject([{ requestId: 'broken', err: expect.anything() }])
  })
})

test.each([
  ['without a token', 401, {}, { token: null }],
  ['beyond the rate limit of a token', 429, { rateLimit: { requests: 1, seconds: 600 } }, {}],
])('of many requests %s, a few have a line and the others are counted', async (_what, status, settings, options) => {
  const { server, requests, log } = await startLogged(settings)
  await server.call('/plants')
  const total = 300
  await Promise.all(
    Array.from({ length: total }, async () => {
      const response = await server.call('/plants', options)
      expect(response.status).toBe(status)
      await response.text()
    }),
  )
  const count = () => {
    const lines = requests().filter((line) => line['status'] === status).length
    const omitted = log.eventLines('requests omitted').map((line) => Number(line['omitted']))
    return { lines, sum: omitted.reduce((sum, number) => sum + number, lines) }
  }
  await until(() => count().sum === total, PATIENCE)
  expect(count().lines).toBeLessThan(total)
})

describe('of requests without a valid token', () => {
  const publish = (count: number) => {
    for (let id = 0; id < count; id++) requestUnparsed.publish({ requestId: `${id}`, status: 400, address: undefined })
  }

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    return () => void vi.useRealTimers()
  })

  test('ten have a line each second', async () => {
    const log = await createFileLog()
    const end = startAccessLog(log.logger)
    for (const seconds of [1, 2, 3]) {
      publish(300)
      expect(log.eventLines('request')).toHaveLength(10 * seconds)
      vi.advanceTimersByTime(1_000)
      expect(log.eventLines('requests omitted')).toHaveLength(seconds)
    }
    publish(10)
    end()
    expect(log.eventLines('requests omitted')).toMatchObject([{ omitted: 290 }, { omitted: 290 }, { omitted: 290 }])
  })

  test('none has a line while too many wait, and they are counted when there is room again', async () => {
    const log = await createFileLog()
    let hasRoom = false
    onTestFinished(startAccessLog(log.logger, () => hasRoom))
    publish(3)
    vi.advanceTimersByTime(5_000)
    expect(log.lines()).toEqual([])
    hasRoom = true
    vi.advanceTimersByTime(1_000)
    expect(log.eventLines('requests omitted')).toMatchObject([{ omitted: 3 }])
    publish(1)
    expect(log.eventLines('request')).toHaveLength(1)
  })
})

test.each(['not an address', 'pst_0123456789', '"}\u0085', 'dead.beef.cafe:face', '1.2.3.4.5', ''])(
  'what is not an address is left out: %s',
  async (address) => {
    const { server, find } = await startLogged({ trustProxy: 1 })
    const headers = { ...withId('id'), 'X-Forwarded-For': address, Authorization: 'Bearer x' }
    await exchange(server.url, get('/plants', headers))
    const { clientAddress } = await find('id')
    expect(clientAddress).toBe(address === '' ? '127.0.0.1' : undefined)
  },
)

test.each([
  ['192.0.2.7:4711', '192.0.2.7'],
  ['[2001:db8::1]:4711', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1%eth0'],
])('the address %s, as a proxy reports it, is written as %s', async (address, written) => {
  const { server, find } = await startLogged({ trustProxy: 1 })
  await exchange(server.url, get('/plants', { ...withId('id'), 'X-Forwarded-For': address }))
  expect(await find('id')).toMatchObject({ clientAddress: written })
})

describe('ACCESS_LOG', () => {
  async function callProcess(environment: Record<string, string>): Promise<string> {
    const DATABASE_URL = await newDatabase()
    const { stdout } = await runCommand(['token', 'create', '--account', 'alice'], { DATABASE_URL })
    const server = await startServerProcess({ DATABASE_URL, ...environment })
    const headers = { authorization: `Bearer ${stdout.trim()}`, 'x-request-id': 'called' }
    expect((await fetch(`${server.url}/plants`, { headers })).status).toBe(200)
    expect(await server.end()).toBe(0)
    return server.output()
  }

  test.each(['info', 'trace'])('is off by default, also with LOG_LEVEL=%s', async (level) => {
    expect(await callProcess({ LOG_LEVEL: level })).not.toContain('called')
  })

  test('on writes lines, the last ones before the process exits', async () => {
    const lines = eventLines(await callProcess({ ACCESS_LOG: 'on' }), 'request')
    expect(lines).toMatchObject([{ requestId: 'called', status: 200, account: 'alice' }])
  })
})

test('a request that a shutdown aborts has a line', async () => {
  const environment = { ACCESS_LOG: 'on', SHUTDOWN_TIMEOUT: '100ms' }
  const { server, token } = await startWithToken(temporaryFolder(), 'aborted', environment)
  const socket = await openSocket(server.url)
  const headers = { ...withId('aborted'), 'Content-Length': '100', Expect: '100-continue' }
  socket.write(withToken(post('{"id":1,"name":"Ficus"}', headers), token))
  // The server waits for the rest of the body.
  await once(socket, 'data')
  expect(await server.end()).toBe(0)
  const lines = eventLines(server.output(), 'request')
  expect(lines).toMatchObject([{ requestId: 'aborted', status: 499, account: 'alice', route: '/plants' }])
})

test('lines are written soon, also by a server that is then killed', async () => {
  const server = await startServerProcess({ DATABASE_URL: await newDatabase(), ACCESS_LOG: 'on' })
  await fetch(`${server.url}/nothing`, { headers: { 'x-request-id': 'called' } })
  await until(() => server.output().includes('called'), PATIENCE)
  await server.end('SIGKILL')
  expect(eventLines(server.output(), 'request')).toMatchObject([{ status: 404 }])
})
