/** Clients that are slow, silent or greedy: what they may take, and what others get meanwhile. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import { expect, test } from 'vitest'
import { newDatabase } from '../../../test/helpers/database/databases.ts'
import { startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { until } from '../../../test/helpers/until.ts'
import { addLongList } from '../helpers/storage/long-list.ts'
import { readMetric } from '../helpers/telemetry/read-metric.ts'
import { openSocket, readAll, readResponses } from '../helpers/wire/connection.ts'
import { get, KEEP_ALIVE, listPlants, NO_TOKEN, postHead, withToken } from '../helpers/wire/requests.ts'
import { accepts, rejects } from '../helpers/wire/wire.ts'

const OPEN = { ...KEEP_ALIVE, ...NO_TOKEN }
const GET_BUNDLE = get('/docs/swagger-ui-bundle.js', OPEN)
const MEBIBYTE = 2 ** 20
const IN_FLIGHT = 'plant_store_requests_in_flight'

const shutdown = { adminPort: 0, shutdownTimeout: 100 }
const limited = await startTestServer({ maxRequestsInFlight: 20, maxConnections: 90, ...shutdown })
const server = await startTestServer({ stallTimeout: 2_000, ...shutdown })

test('a response that waits in its socket is not in flight', async () => {
  // The first request reads the file.
  await (await limited.call('/docs/swagger-ui-bundle.js')).arrayBuffer()
  for (let index = 0; index < 30; index++) await openUnread(limited, GET_BUNDLE)
  expect((await limited.call('/plants')).status).toBe(200)
  expect(await readMetric(limited, IN_FLIGHT)).toBe(0)
})

test('clients that read a static file, a cached list or one of many pieces a few bytes at a time are disconnected', async () => {
  await using server = await startTestServer({ stallTimeout: 500 })
  await addLongList(server.databaseUrl, 'alice', 1)
  await (await server.call('/plants')).arrayBuffer()
  const longList = await createLongList(server, 'bob')
  // More than the operating system buffers.
  const wires = [GET_BUNDLE.repeat(10), listPlants(server.token).repeat(10), longList]
  const sockets = await Promise.all(wires.map((wire) => openUnread(server, wire)))
  const drip = setInterval(() => {
    for (const socket of sockets) {
      socket.read(64)
      // Fails once the server has closed the connection; as part of a request it means nothing.
      socket.write('\r\n')
    }
  }, 100)
  await until(() => sockets.every(({ destroyed }) => destroyed))
  clearInterval(drip)
  expect((await server.call('/plants?limit=1')).status).toBe(200)
})

test('a client that reads slowly but steadily gets all of a response', async () => {
  const socket = await openUnread(server, get('/docs/swagger-ui-bundle.js', NO_TOKEN))
  let received = ''
  for (let piece: Buffer | null; !socket.readableEnded; await sleep(5)) {
    piece = socket.read(Math.min(socket.readableLength, 16 * 1024))
    received += piece?.toString('latin1') ?? ''
  }
  expect(received.length).toBeGreaterThan(MEBIBYTE)
  expect(readResponses(received)).toHaveLength(1)
})

test('HEAD of a long list, and CONNECT behind one, end; shutdown does not wait for them', async () => {
  await using server = await startTestServer({ adminPort: 0 })
  const longList = await createLongList(server, 'alice')
  const head = await server.call('/plants', { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
  const socket = await openUnread(server, `${longList}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`)
  await readAll(socket)
  await until(async () => (await readMetric(server, IN_FLIGHT)) === 0)
})

test('a body in chunks of one byte is read in many turns of the event loop, which others have meanwhile', async () => {
  const socket = await openSocket(server.url)
  // 600 kB, of which Node.js hands over 64 kB at a time.
  socket.write(withToken(postHead({ 'Transfer-Encoding': 'chunked' }), server.token) + '1\r\n \r\n'.repeat(100_000))
  socket.end('0\r\n\r\n')
  let turns = 0
  const count = () => {
    turns++
    if (!socket.closed) setImmediate(count)
  }
  count()
  expect(await readStatus(socket)).toBe(400)
  expect(turns).toBeGreaterThanOrEqual(9)
})

test('one address cannot take the whole queue of pipelined requests', async () => {
  // More than may wait on all connections.
  for (let index = 0; index < 60; index++) {
    await openUnread(server, GET_BUNDLE.repeat(2) + get('/nothing', OPEN).repeat(98), '127.0.0.2')
  }
  const text = get('/nothing', OPEN) + get('/nothing', NO_TOKEN)
  const socket = await openSocket(server.url)
  socket.write(text)
  expect((await readAll(socket)).match(/HTTP\/1\.1 404/g)).toHaveLength(2)
})

test('one account cannot take all requests in flight; one that ends or disconnects makes room', async () => {
  const uploads: Awaited<ReturnType<typeof beginUpload>>[] = []
  const isFull = async () => (await limited.call('/plants')).status === 503
  while (!(await isFull())) uploads.push(await beginUpload(limited, uploads.length))
  expect(uploads).toHaveLength(18)
  await rejects(limited, get(), 50300, { headers: { 'Retry-After': /^[123]$/ } })
  const { token } = await limited.createToken({ account: 'bob' })
  await accepts({ ...limited, token }, get())
  // A request without a token is counted by address, and in flight only until it is rejected.
  await rejects(limited, get('/plants', NO_TOKEN), 40101)

  expect(await uploads[0]?.finish()).toBe(200)
  await until(async () => !(await isFull()))
  const next = await beginUpload(limited, 99)
  expect(await isFull()).toBe(true)
  next.socket.destroy()
  await until(async () => !(await isFull()))
})

test('one address cannot take all connections', async () => {
  const sockets: Socket[] = []
  for (let index = 0; index < 100; index++) sockets.push(await openSocket(limited.url, { localAddress: '127.0.0.2' }))
  await until(() => sockets.filter(({ destroyed }) => destroyed).length >= 20)
  expect((await limited.call('/plants')).status).toBe(200)
  // Those that are open go on.
  sockets[0]?.write(withToken(get(), limited.token))
  expect(await readStatus(sockets[0] as Socket)).toBe(200)
})

test('connections leave files for probes, the database and the log where the process may open few', async () => {
  const settings = { DATABASE_URL: await newDatabase(), ADMIN_PORT: '0' }
  const server = await startServerProcess(settings, 256)
  expect(server.output()).toMatch(/"level":"warn".*MAX_CONNECTIONS is lowered from 20000 to 128,.*\(nofile\) is 256/)
  const half = 'GET /plants HTTP/1.1\r\nHost: '
  const sockets: Socket[] = []
  // Each address has its share.
  for (let index = 0; index < 300; index++) sockets.push(await openUnread(server, half, `127.0.0.${2 + (index % 30)}`))
  await until(() => sockets.filter(({ destroyed }) => destroyed).length >= 172)
  expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200)
  for (const socket of sockets.slice(0, 100)) socket.destroy()
  await until(async () => (await fetch(`${server.url}/plants`).catch(() => undefined))?.status === 401)
  expect(await server.end()).toBe(0)
  expect(server.output()).toMatch(/"reason":"connections"/)
})

const timeouts = { headersTimeout: 300, requestTimeout: 600, keepAliveTimeout: 300, stallTimeout: 500 }
const impatient = await startTestServer(timeouts)

test('slow and silent clients get a 408, and their connection is closed', async () => {
  const wires = [
    ['a silent connection', ''],
    ['headers that do not end', 'GET /plants HTTP/1.1\r\nHost: x\r\n'],
    ['headers that arrive byte by byte', 'GET /plants HTTP/1.1\r\nHost: ', 'x'],
    ['a body that does not end', `${postHead({ 'Content-Length': '20' })}{`],
  ]
  const closed = wires.map(async ([what, wire = '', more = '']) => {
    const socket = await openSocket(impatient.url)
    socket.write(withToken(wire, impatient.token))
    const dripping = setInterval(() => socket.write(more), 50)
    const [response] = readResponses(await readAll(socket))
    clearInterval(dripping)
    expect([response?.status, response?.headers.get('connection')], what).toEqual([408, 'close'])
    expect(JSON.parse(response?.body ?? ''), what).toEqual({ error: 40800, message: expect.any(String) })
  })
  await Promise.all(closed)
})

test('a connection that is idle between two requests is closed', async () => {
  const socket = await openSocket(impatient.url)
  socket.write(get('/nothing', { ...KEEP_ALIVE, ...NO_TOKEN }))
  expect(await readStatus(socket)).toBe(404)
})

test('a client that waits for a locked database is not disconnected', async () => {
  const other = new Sqlite(fileURLToPath(impatient.databaseUrl))
  other.exec('BEGIN IMMEDIATE')
  const response = await impatient.post('{"id": 1, "name": "Ficus"}')
  other.close()
  expect(response.status).toBe(503)
})

/** Creates a long list of an account, and returns a request for it. */
async function createLongList(server: TestServer, account: string): Promise<string> {
  await addLongList(server.databaseUrl, account)
  return listPlants((await server.createToken({ account })).token)
}

/** Opens a connection that sends and reads nothing. */
async function openUnread(server: { url: string }, request: string, localAddress?: string): Promise<Socket> {
  const socket = await openSocket(server.url, localAddress === undefined ? {} : { localAddress })
  socket.pause()
  if (request !== '') socket.write(request)
  return socket
}

/** Reads the status of the only response until the connection closes. */
async function readStatus(socket: Socket): Promise<number | undefined> {
  return readResponses(await readAll(socket))[0]?.status
}

/** Sends a request except its body, waits until the server asks for that, and returns what sends it. */
async function beginUpload(server: TestServer, id: number) {
  const body = JSON.stringify({ id, name: 'Ficus' })
  const socket = await openSocket(server.url)
  const headers = { Connection: 'close', 'Content-Length': String(body.length), Expect: '100-continue' }
  socket.write(withToken(postHead(headers), server.token))
  const [interim] = await once(socket, 'data')
  expect(String(interim)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  const finish = () => {
    socket.write(body)
    return readStatus(socket)
  }
  return { socket, finish }
}
