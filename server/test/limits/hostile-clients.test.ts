/** Clients that are slow, silent or greedy: what they may take, and what others get meanwhile. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { readMetric } from '../helpers/telemetry/read-metric.ts'
import { openConnection, openSocket, readAll } from '../helpers/wire/connection.ts'
import { createPlant, get, KEEP_ALIVE, listPlants, NO_TOKEN, postHead, withToken } from '../helpers/wire/requests.ts'
import { readResponses } from '../helpers/wire/responses.ts'

const OPEN = { ...KEEP_ALIVE, ...NO_TOKEN }
const GET_BUNDLE = get('/docs/swagger-ui-bundle.js', OPEN)
const MEBIBYTE = 2 ** 20
const IN_FLIGHT = 'plant_store_requests_in_flight'

if (!isLong)
  console.log('server/test/limits/hostile-clients.test.ts runs in part: PLANT_STORE_LONG_TESTS=1 runs all of it')

const folder = temporaryFolder()

describe('clients that do not read', () => {
  test('a response that waits in its socket is not in flight', async () => {
    await using server = await startTestServer({ maxRequestsInFlight: 2, adminPort: 0, shutdownTimeout: 100 })
    // The first request reads the file.
    await (await server.call('/docs/swagger-ui-bundle.js')).arrayBuffer()
    for (let index = 0; index < 10; index++) await openUnread(server, GET_BUNDLE)
    for (let request = 0; request < 10; request++) expect((await server.call('/plants')).status).toBe(200)
    expect(await readMetric(server, IN_FLIGHT)).toBe(0)
  })

  test.each<[string, (server: TestServer) => Promise<string> | string]>([
    // More than the operating system buffers.
    ['a static file', () => GET_BUNDLE.repeat(10)],
    [
      'a list from the cache',
      async (server) => {
        await server.post(largeBody(900_000))
        await (await server.call('/plants')).arrayBuffer()
        return listPlants(server.token).repeat(10)
      },
    ],
    [
      'a list of many pieces',
      async (server) => {
        await createLongList(server)
        return listPlants(server.token)
      },
    ],
  ])('a client that reads %s a few bytes at a time is disconnected', async (_name, prepare) => {
    await using server = await startTestServer({ stallTimeout: 500 })
    const socket = await openUnread(server, await prepare(server))
    const drip = setInterval(() => {
      socket.read(64)
      // Fails once the server has closed the connection; as part of a request it means nothing.
      socket.write('\r\n')
    }, 100)
    await until(() => socket.destroyed)
    clearInterval(drip)
    expect((await server.call('/plants?limit=1')).status).toBe(200)
  })

  test('a client that reads slowly but steadily gets all of a response', async () => {
    await using server = await startTestServer({ stallTimeout: 2_000 })
    const socket = await openUnread(server, get('/docs/swagger-ui-bundle.js', NO_TOKEN))
    let received = ''
    for (let piece: Buffer | null; !socket.readableEnded; await sleep(5)) {
      piece = socket.read(Math.min(socket.readableLength, 16 * 1024))
      received += piece?.toString('latin1') ?? ''
    }
    expect(received.length).toBeGreaterThan(MEBIBYTE)
    expect(readResponses(received)).toHaveLength(1)
  })

  test('unread lists of one account leave room for those of another', { timeout: 90_000 }, async () => {
    await using server = await startTestServer({ maxResponseMemory: 32 * MEBIBYTE, shutdownTimeout: 100 })
    await createLongList(server)
    for (let index = 0; index < 10; index++) await openUnread(server, listPlants(server.token))
    await until(async () => (await server.call('/plants')).status === 503, 60_000)
    const rejected = await server.call('/plants')
    expect(rejected.headers.get('retry-after')).toBe('1')
    expect(await rejected.json()).toEqual({ error: 50300, message: expect.stringContaining('waiting to be read') })
    const { token } = await server.createToken({ account: 'bob' })
    expect((await server.call('/plants', { token })).status).toBe(200)
    // Creating a plant needs no response memory.
    expect((await server.post('{"id": 99, "name": "Ficus"}')).status).toBe(200)
  })

  test.runIf(isLong)(
    'lists of 31 MB, 330 pipelined on three connections and one on each of 300 others, unread, leave the process running',
    {
      timeout: 60_000,
    },
    async () => {
      const { server, token } = await startWithToken(folder, 'lists', {
        ADMIN_PORT: '0',
        NODE_OPTIONS: '--max-old-space-size=128',
        SHUTDOWN_TIMEOUT: '100ms',
      })
      const client = await openConnection(server.url)
      const name = 'x'.repeat(MEBIBYTE - 100)
      for (let id = 0; id < 31; id++) expect((await client.send(createPlant(token, id, name))).status).toBe(200)
      for (let index = 0; index < 3; index++) await openUnread(server, listPlants(token).repeat(330))
      const sockets = await Promise.all(Array.from({ length: 300 }, () => openUnread(server, '')))
      for (const socket of sockets) socket.write(listPlants(token))
      for (let request = 0; request < 20; request++) {
        expect((await client.send(createPlant(token, 100 + request))).status).toBe(200)
        await sleep(100)
      }
      expect(await server.end()).toBe(0)
    },
  )
})

test('HEAD of a long list reads no more than its beginning', async () => {
  await using server = await startTestServer()
  await createLongList(server)
  const response = await server.call('/plants', { method: 'HEAD' })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(await response.text()).toBe('')
})

test('CONNECT behind a response in progress closes the connection, and shutdown does not wait for it', async () => {
  await using server = await startTestServer({ adminPort: 0 })
  await createLongList(server)
  const socket = await openUnread(server, `${listPlants(server.token)}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`)
  await readAll(socket)
  await until(async () => (await readMetric(server, IN_FLIGHT)) === 0)
})

describe('bodies', () => {
  test.runIf(isLong)(
    'in a million chunks of one byte take no more memory than their bytes',
    { timeout: 120_000 },
    async () => {
      const { server, token } = await startWithToken(folder, 'chunks', { NODE_OPTIONS: '--max-old-space-size=64' })
      const text = JSON.stringify({ id: 1, name: 'x'.repeat(250_000) })
      const chunks = [...text].map((character) => `1\r\n${character}\r\n`).join('')
      const head = postHead({ Connection: 'close', 'Transfer-Encoding': 'chunked' })
      const statuses = Array.from({ length: 4 }, async () => {
        const socket = await openSocket(server.url)
        socket.write(`${withToken(head, token)}${chunks}0\r\n\r\n`)
        return readResponses(await readAll(socket))[0]?.status
      })
      expect(await Promise.all(statuses)).toEqual([200, 200, 200, 200])
      expect(await server.end()).toBe(0)
    },
  )

  test('beyond their memory get a 503, but not those of another account', async () => {
    await using server = await startTestServer({
      bodyLimit: MEBIBYTE,
      maxBodyMemory: 16 * MEBIBYTE,
      shutdownTimeout: 100,
    })
    const upload = async (): Promise<Socket> => {
      const socket = await openSocket(server.url)
      socket.write(withToken(`${postHead({ 'Content-Length': String(MEBIBYTE) })}{"id":`, server.token))
      return socket
    }
    for (let index = 0; index < 8; index++) await upload()
    const [rejected] = readResponses(await readAll(await upload()))
    expect(rejected?.status).toBe(503)
    expect(rejected?.headers.get('retry-after')).toBe('1')
    expect(rejected?.headers.get('connection')).toBe('close')
    // A body that arrives at one time needs no memory to wait in.
    expect((await server.post('{"id": 1, "name": "Ficus"}')).status).toBe(200)
    const { token } = await server.createToken({ account: 'bob' })
    expect((await server.post(largeBody(), { token })).status).toBe(200)
  })

  test('that end or are aborted release their memory', async () => {
    await using server = await startTestServer({ maxBodyMemory: MEBIBYTE })
    for (let round = 0; round < 3; round++) {
      const socket = await openSocket(server.url)
      const chunks = '4\r\n    \r\n'.repeat(10_000)
      socket.write(withToken(`${postHead({ 'Transfer-Encoding': 'chunked' })}${chunks}`, server.token))
      await sleep(50)
      socket.destroy()
      await until(async () => (await server.post(largeBody())).status === 200)
    }
  })
})

describe('shares', () => {
  test('one address cannot take the whole queue of pipelined requests', async () => {
    await using server = await startTestServer()
    // More than may wait on all connections.
    for (let index = 0; index < 60; index++) {
      await openUnread(server, GET_BUNDLE.repeat(2) + get('/nothing', OPEN).repeat(98), '127.0.0.2')
    }
    const text = get('/nothing', OPEN) + get('/nothing', NO_TOKEN)
    const socket = await openSocket(server.url)
    socket.write(text)
    expect((await readAll(socket)).match(/HTTP\/1\.1 404/g)).toHaveLength(2)
  })

  test('one account cannot take all requests in flight', async () => {
    await using server = await startTestServer({ maxRequestsInFlight: 20, shutdownTimeout: 100 })
    for (let index = 0; index < 30; index++) {
      const socket = await openSocket(server.url)
      socket.write(withToken(`${postHead({ 'Content-Length': '100' })}{`, server.token))
    }
    await until(async () => (await server.call('/plants')).status === 503)
    const { token } = await server.createToken({ account: 'bob' })
    expect((await server.call('/plants', { token })).status).toBe(200)
    // A request without a token is counted by address, and in flight only until it is rejected.
    expect((await server.call('/plants', { token: null })).status).toBe(401)
  })

  test('one address cannot take all connections', async () => {
    await using server = await startTestServer({ maxConnections: 20, shutdownTimeout: 100 })
    const sockets: Socket[] = []
    for (let index = 0; index < 30; index++) sockets.push(await openSocket(server.url, { localAddress: '127.0.0.2' }))
    await until(() => sockets.filter(({ destroyed }) => destroyed).length >= 11)
    expect((await server.call('/plants')).status).toBe(200)
    // Those that are open go on.
    sockets[0]?.write(withToken(get(), server.token))
    expect(await readStatus(sockets[0] as Socket)).toBe(200)
  })
})

test('a request in flight beyond the limit gets a 503 with Retry-After; one that ends or disconnects makes room', async () => {
  await using server = await startTestServer({ maxRequestsInFlight: 2 })
  const slow = [await beginUpload(server, 1), await beginUpload(server, 2)] as const
  const rejected = await server.call('/plants')
  expect(rejected.status).toBe(503)
  expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await rejected.json()).toMatchObject({ error: 50300 })

  expect(await slow[0].finish()).toBe(200)
  await until(async () => (await server.call('/plants')).status === 200)
  const next = await beginUpload(server, 3)
  expect((await server.call('/plants')).status).toBe(503)
  next.socket.destroy()
  await until(async () => (await server.call('/plants')).status === 200)
  expect(await slow[1].finish()).toBe(200)
  expect(await (await server.call('/plants')).json()).toHaveLength(2)
})

describe('slow and silent clients', () => {
  const limits = { headersTimeout: 300, requestTimeout: 600, keepAliveTimeout: 300, stallTimeout: 1_000 }

  test.each([
    ['a silent connection', ''],
    ['headers that do not end', 'GET /plants HTTP/1.1\r\nHost: x\r\n'],
    ['headers that arrive byte by byte', 'GET /plants HTTP/1.1\r\nHost: ', 'x'],
    ['a body that does not end', `${postHead({ 'Content-Length': '20' })}{`],
  ])('%s: a 408, and the connection is closed', async (_name, wire, more = '') => {
    await using server = await startTestServer(limits)
    const socket = await openSocket(server.url)
    socket.write(withToken(wire, server.token))
    const dripping = setInterval(() => socket.write(more), 50)
    const [response] = readResponses(await readAll(socket))
    clearInterval(dripping)
    expect([response?.status, response?.headers.get('connection')]).toEqual([408, 'close'])
    expect(JSON.parse(response?.body ?? '')).toEqual({ error: 40800, message: expect.any(String) })
  })

  test('a connection that is idle between two requests is closed', async () => {
    await using server = await startTestServer(limits)
    const socket = await openSocket(server.url)
    socket.write(get('/nothing', { ...KEEP_ALIVE, ...NO_TOKEN }))
    expect(await readStatus(socket)).toBe(404)
  })

  test('a client that waits for a locked database is not disconnected', async () => {
    await using server = await startTestServer({ stallTimeout: 500 })
    const other = new Sqlite(fileURLToPath(server.databaseUrl))
    other.exec('BEGIN IMMEDIATE')
    const response = await server.post('{"id": 1, "name": "Ficus"}')
    other.close()
    expect(response.status).toBe(503)
  })
})

/** Creates plants whose list of 11 MB is sent in many pieces. */
async function createLongList(server: TestServer): Promise<void> {
  const name = 'x'.repeat(900_000)
  for (let id = 0; id < 12; id++) await server.post(JSON.stringify({ id, name }))
}

function largeBody(length = 500_000): string {
  return JSON.stringify({ id: 2, name: 'x'.repeat(length) })
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

/** Sends a request except its body, and waits until the server asks for that. */
async function beginUpload(
  server: TestServer,
  id: number,
): Promise<{ socket: Socket; finish(): Promise<number | undefined> }> {
  const body = JSON.stringify({ id, name: 'Ficus' })
  const socket = await openSocket(server.url)
  const headers = { Connection: 'close', 'Content-Length': String(body.length), Expect: '100-continue' }
  socket.write(withToken(postHead(headers), server.token))
  const [interim] = await once(socket, 'data')
  expect(String(interim)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  return {
    socket,
    finish() {
      socket.write(body)
      return readStatus(socket)
    },
  }
}
