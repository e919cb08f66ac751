import { once } from 'node:events'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { memoryInUse } from '../../../test/helpers/memory-in-use.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { until } from '../../../test/helpers/until.ts'
import { readMetric } from '../helpers/telemetry/read-metric.ts'
import { openSocket, readAll } from '../helpers/wire/connection.ts'
import { get, KEEP_ALIVE, listPlants, NO_TOKEN, postHead, withToken } from '../helpers/wire/requests.ts'
import { readResponses } from '../helpers/wire/responses.ts'
import { rejects } from '../helpers/wire/wire.ts'

describe('requests in flight', () => {
  test('a request beyond the limit gets a 503 with Retry-After; one that ends makes room', async () => {
    await using server = await startTestServer({ maxRequestsInFlight: 2 })
    const slow = [await beginUpload(server, 1), await beginUpload(server, 2)] as const

    const rejected = await server.call('/plants')
    expect(rejected.status).toBe(503)
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await rejected.json()).toMatchObject({ error: 50300 })

    expect(await slow[0].finish()).toBe(200)
    await until(async () => (await server.call('/plants')).status === 200)
    expect(await slow[1].finish()).toBe(200)
    expect(await (await server.call('/plants')).json()).toHaveLength(2)
  })

  test('a client that disconnects makes room', async () => {
    await using server = await startTestServer({ maxRequestsInFlight: 1 })
    const { socket } = await beginUpload(server, 1)
    expect((await server.call('/plants')).status).toBe(503)
    socket.destroy()
    await until(async () => (await server.call('/plants')).status === 200)
  })
})

test('connections beyond the limit are closed immediately, and open ones go on', async () => {
  await using server = await startTestServer({ maxConnections: 2, shutdownTimeout: 100 })
  const first = await openSocket(server.url)
  await openSocket(server.url)
  const third = await openSocket(server.url)
  await once(third, 'close')

  first.write(withToken(get(), server.token))
  expect(await readStatus(first)).toBe(200)
})

describe('slow and silent clients', () => {
  const limits = { headersTimeout: 300, requestTimeout: 600, keepAliveTimeout: 300, stallTimeout: 1_000 }

  test.each([
    ['a silent connection', ''],
    ['headers that do not end', 'GET /plants HTTP/1.1\r\nHost: x\r\n'],
    ['a body that does not end', `${postHead({ 'Content-Length': '20' })}{`],
  ])('%s gets a 408, and its connection is closed', async (_name, wire) => {
    await using server = await startTestServer(limits)
    await rejects(server, wire, 40800, { headers: { Connection: 'close' } })
  })

  test('headers that arrive byte by byte get no more time', async () => {
    await using server = await startTestServer(limits)
    const socket = await openSocket(server.url)
    socket.write('GET /plants HTTP/1.1\r\nHost: ')
    const dripping = setInterval(() => socket.write('x'), 50)
    const status = await readStatus(socket)
    clearInterval(dripping)
    expect(status).toBe(408)
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

  test('a client that does not read its list is disconnected, and costs little memory', async () => {
    await using storage = await startTestServer({ bodyLimit: 8 * 2 ** 20 })
    const name = 'x'.repeat(4 * 2 ** 20)
    for (let id = 1; id <= 16; id++) await storage.post(JSON.stringify({ id, name }))
    // A server of its own, so that the short timeout cannot affect the requests above.
    const { databaseUrl } = storage
    await using server = await startTestServer({ databaseUrl, stallTimeout: 200, adminPort: 0 })
    const before = memoryInUse()
    let most = before

    const socket = await openSocket(server.url)
    socket.pause()
    socket.write(listPlants(server.token))
    const labels =
      'http_request_method="GET",url_scheme="http",http_route="/plants",http_response_status_code="",error_type="client_disconnected"'
    const ended = `http_server_request_duration_seconds_count{${labels}}`
    await until(async () => {
      most = Math.max(most, memoryInUse())
      return (await readMetric(server, ended)) === 1
    })
    expect(most - before).toBeLessThan(40 * 2 ** 20)

    // What the operating system has buffered can still be read, but the list does not end.
    const received = await readAll(socket)
    expect(received.length).toBeLessThan(16 * name.length)
    expect(received.endsWith('0\r\n\r\n')).toBe(false)
    expect((await server.call('/plants?limit=1')).status).toBe(200)
  })
})

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
