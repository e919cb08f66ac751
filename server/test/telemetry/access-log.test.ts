/** The line of each request with ACCESS_LOG=on. */
import { once } from 'node:events'
import { type IncomingMessage, request as openRequest } from 'node:http'
import type { Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { until } from '../../../test/helpers/until.ts'
import type { Settings } from '../../src/index.ts'
import { logRequests } from '../../src/telemetry/request-log.ts'
import { createKey, ISSUER, signToken, startKeyServer } from '../helpers/accounts/token-issuer.ts'
import { addLongList } from '../helpers/storage/long-list.ts'
import { createMemoryLog, type LogLine, readLines } from '../helpers/telemetry/log-lines.ts'
import { exchange, openSocket } from '../helpers/wire/connection.ts'
import { get, NO_TOKEN, post, withToken } from '../helpers/wire/requests.ts'

const log = await createMemoryLog()
afterAll(logRequests(log.logger))
const key = await createKey('first')
const keyServer = await startKeyServer(key)
const start = (settings: Partial<Settings>) =>
  startTestServer({ trustProxy: 1, shutdownTimeout: 100, ...settings }, { logger: log.logger })
const server = await start(keyServer.settings)

/** Waits for the lines of a request. */
async function findAll(requestId: string): Promise<LogLine[]> {
  const find = () => log.eventLines('request').filter((line) => line['requestId'] === requestId)
  await until(() => find().length > 0)
  return find()
}
const find = async (requestId: string) => (await findAll(requestId))[0] ?? {}
const withId = (id: string) => ({ 'X-Request-Id': id })

test('a line says who called what, from where, with which result and how much was sent', async () => {
  const { id: tokenId, token } = await server.createToken({ account: 'bob' })
  const wire = post('{"id":1,"name":"Ficus"}', { ...withId('mine'), 'X-Forwarded-For': '192.0.2.7' })
  const text = await exchange(server.url, withToken(wire, token))
  expect(text).toContain('X-Request-Id: mine')
  expect(await find('mine')).toMatchObject({
    level: 'info',
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

test('a JSON Web Token is named by its issuer and subject', async () => {
  await server.call('/plants', { token: await signToken(key), headers: withId('jwt') })
  expect(await find('jwt')).toMatchObject({ account: 'ada', tokenId: `${ISSUER} ada` })
})

const impatient = await start({ requestTimeout: 200 })
const body = '{"id":1,"name":"Ficus"}'
const ofAlice = { route: '/plants', account: 'alice' }
test.each<[what: string, wire: string, expected: LogLine, at?: TestServer]>([
  ['without a token', get('/plants', NO_TOKEN), { route: '/plants', status: 401 }],
  ['of an unknown path', get('/nothing?x=1'), { status: 404, msg: 'GET unknown path 404' }],
  ['with another expectation', post(body, { Expect: 'wonders' }), { status: 417 }],
  ['that is not HTTP', 'no request\r\n\r\n', { status: 400, msg: 'malformed request 400' }],
  ['that is late', 'GET /plants HTTP/1.1\r\n', { status: 408, msg: 'malformed request 408' }, impatient],
  ['whose body is late', post(body, { 'Content-Length': '100' }), { ...ofAlice, status: 408 }, impatient],
])('a rejected request %s has one line, with the id of its response, and no unknown path', async (...row) => {
  const [, wire, expected, { url, token } = server] = row
  const text = await exchange(url, withToken(wire, token))
  const lines = await findAll(/X-Request-Id: (\S+)/.exec(text)?.[1] ?? '')
  expect(text).toContain(` ${expected['status']} `)
  expect(lines).toMatchObject([{ clientAddress: '127.0.0.1', ...expected }])
  expect(JSON.stringify(lines)).not.toContain('nothing')
})

const full = await start({})
// It is sent in many pieces.
await addLongList(full.databaseUrl, 'alice', 40)

test('a response that is not complete has the status of the failure if the server failed, and the error is logged with the same id', async () => {
  const headers = { authorization: `Bearer ${full.token}`, 'x-request-id': 'broken' }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    openRequest(`${full.url}/plants`, { headers }, resolve).on('error', reject).end()
  })
  await once(response, 'readable')
  await runSql(full.databaseUrl, 'ALTER TABLE "Plant" RENAME TO "Gone"')
  await expect(response.toArray()).rejects.toThrow('aborted')
  await runSql(full.databaseUrl, 'ALTER TABLE "Gone" RENAME TO "Plant"')
  expect(await find('broken')).toMatchObject({ status: 500, account: 'alice' })
  const errors = readLines(`${log.lines().join('\n')}\n`).filter(({ level }) => level === 'error')
  expect(errors).toMatchObject([{ requestId: 'broken', err: expect.anything() }])
})

const unfinished = { 'Content-Length': '100', Expect: '100-continue' }
test.each<[what: string, id: string, wire: string, end: (socket: Socket) => unknown]>([
  ['a client disconnects while it is reading', 'reading', get(), (socket) => socket.destroy()],
  ['the shutdown aborts it', 'aborted', post(body, unfinished), () => full.close()],
])('a response that is not complete has the status 499 if %s', async (_what, id, wire, end) => {
  const socket = await openSocket(full.url)
  socket.write(withToken(wire, full.token).replace('\r\n', `\r\nX-Request-Id: ${id}\r\n`))
  await once(socket, 'data')
  await end(socket)
  expect(await find(id)).toMatchObject({ ...ofAlice, status: 499, clientAddress: '127.0.0.1' })
})

test('an address is written as a proxy reports it, without its port, or else that of the connection', async () => {
  const cases: Record<string, string> = {
    '192.0.2.7:4711': '192.0.2.7',
    '[2001:db8::1]:4711': '2001:db8::1',
  }
  for (const text of ['', '"}\u0085', 'dead.beef.cafe:face', '[2001:db8::1', 'x'.repeat(14_000)])
    cases[text] = '127.0.0.1'
  for (const [index, [reported, written]] of Object.entries(cases).entries()) {
    const headers = { ...withId(`id${index}`), 'X-Forwarded-For': reported }
    await exchange(server.url, withToken(get('/plants', headers), server.token))
    expect((await find(`id${index}`))['clientAddress'], reported).toBe(written)
  }
})
