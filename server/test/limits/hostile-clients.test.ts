import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { get, head } from '../helpers/hostile/hostile-clients.ts'
import { open, readAll } from '../helpers/open-socket.ts'
import { statusOf } from '../helpers/send-raw.ts'
import { createRequest, openCaller } from '../helpers/wire/keep-alive-caller.ts'

const BUNDLE = '/docs/swagger-ui-bundle.js'
const MEBIBYTE = 2 ** 20

const folder = temporaryFolder()

describe('clients that do not read', () => {
  test('a response that waits in its socket is not in flight', async () => {
    await using server = await startTestServer({ maxRequestsInFlight: 2, adminPort: 0, shutdownTimeout: 100 })
    for (let index = 0; index < 10; index++) await openUnread(server, get(BUNDLE))
    for (let request = 0; request < 10; request++) expect((await server.call('/plants')).status).toBe(200)
    expect(await inFlight(server)).toBe(0)
  })

  test.each([
    // More of them than the systems between take.
    ['a static file', async (_server: TestServer) => get(BUNDLE).repeat(10)],
    [
      'a list from the cache',
      async (server: TestServer) => {
        await server.post(JSON.stringify({ id: 1, name: 'x'.repeat(900_000) }))
        await (await server.call('/plants')).arrayBuffer()
        return get('/plants', server.token).repeat(10)
      },
    ],
    [
      'a list of many pieces',
      async (server: TestServer) => {
        const name = 'x'.repeat(900_000)
        for (let id = 0; id < 12; id++) await server.post(JSON.stringify({ id, name }))
        return get('/plants', server.token)
      },
    ],
  ])('%s that is read a few bytes at a time is cut off', async (_name, prepare) => {
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
    const socket = await openUnread(server, get(BUNDLE, undefined, { Connection: 'close' }))
    let received = ''
    for (let piece: Buffer | null; !socket.readableEnded; await sleep(5)) {
      piece = socket.read(Math.min(socket.readableLength, 16 * 1024))
      received += piece?.toString('latin1') ?? ''
    }
    expect(received.length).toBeGreaterThan(MEBIBYTE)
    const [, length] = /^Content-Length: (\d+)/m.exec(received) ?? []
    expect(received.length - received.indexOf('\r\n\r\n') - 4).toBe(Number(length))
  })

  test('unread lists of one account leave room for those of another', { timeout: 90_000 }, async () => {
    await using server = await startTestServer({ maxResponseMemory: 32 * MEBIBYTE, shutdownTimeout: 100 })
    const name = 'x'.repeat(900_000)
    for (let id = 0; id < 12; id++) await server.post(JSON.stringify({ id, name }))
    for (let index = 0; index < 10; index++) await openUnread(server, get('/plants', server.token))
    await until(async () => (await server.call('/plants')).status === 503, 60_000)
    const rejected = await server.call('/plants')
    expect(rejected.headers.get('retry-after')).toBe('1')
    expect(await rejected.json()).toEqual({
      error: 50300,
      message: 'Too many responses are waiting to be read. Retry later.',
    })
    const { token } = await server.createToken({ account: 'bob' })
    expect((await server.call('/plants', { token })).status).toBe(200)
    // Creating takes no memory of responses.
    expect((await server.post('{"id": 99, "name": "Ficus"}')).status).toBe(200)
  })

  test('lists of 31 MB, 330 pipelined on three connections and one on each of 300 others, unread, leave the process running', {
    timeout: 60_000,
  }, async () => {
    const { server, token } = await startWithToken(folder, 'lists', {
      ADMIN_PORT: '0',
      NODE_OPTIONS: '--max-old-space-size=128',
      SHUTDOWN_TIMEOUT: '100ms',
    })
    const caller = await openCaller(server.url)
    const name = 'x'.repeat(MEBIBYTE - 100)
    for (let id = 0; id < 31; id++) expect((await caller.send(createRequest(token, id, name))).status).toBe(200)
    for (let index = 0; index < 3; index++) await openUnread(server, get('/plants', token).repeat(330))
    const sockets = await Promise.all(Array.from({ length: 300 }, () => openUnread(server, '')))
    for (const socket of sockets) socket.write(get('/plants', token))
    for (let request = 0; request < 20; request++) {
      expect((await caller.send(createRequest(token, 100 + request))).status).toBe(200)
      await sleep(100)
    }
    expect(await server.end()).toBe(0)
  })
})

test('HEAD of a long list reads no more than its beginning', async () => {
  await using server = await startTestServer()
  const name = 'x'.repeat(900_000)
  for (let id = 0; id < 12; id++) await server.post(JSON.stringify({ id, name }))
  const response = await server.call('/plants', { method: 'HEAD' })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(await response.text()).toBe('')
})

test('a tunnel that is asked for behind a response in progress ends the connection, and shutdown does not wait', async () => {
  await using server = await startTestServer({ adminPort: 0 })
  const name = 'x'.repeat(900_000)
  for (let id = 0; id < 12; id++) await server.post(JSON.stringify({ id, name }))
  const socket = await openUnread(server, `${get('/plants', server.token)}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`)
  await readAll(socket)
  await until(async () => (await inFlight(server)) === 0)
})

describe('bodies', () => {
  test('in a million chunks of one byte take no more memory than their bytes', { timeout: 120_000 }, async () => {
    const { server, token } = await startWithToken(folder, 'chunks', { NODE_OPTIONS: '--max-old-space-size=64' })
    const text = JSON.stringify({ id: 1, name: 'x'.repeat(250_000) })
    const chunks = [...text].map((character) => `1\r\n${character}\r\n`).join('')
    const request = `${head('POST', '/plants', token)}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunks}0\r\n\r\n`
    const statuses = Array.from({ length: 4 }, async () => {
      const socket = await open(server.url)
      socket.write(request)
      return statusOf(await readAll(socket))
    })
    expect(await Promise.all(statuses)).toEqual([200, 200, 200, 200])
    expect(await server.end()).toBe(0)
  })

  test('beyond their memory are rejected with 503, those of another account are not', async () => {
    await using server = await startTestServer({
      bodyLimit: MEBIBYTE,
      maxBodyMemory: 16 * MEBIBYTE,
      shutdownTimeout: 100,
    })
    const upload = async (): Promise<Socket> => {
      const socket = await open(server.url)
      socket.write(`${head('POST', '/plants', server.token)}Content-Type: application/json\r\n`)
      socket.write(`Content-Length: ${MEBIBYTE}\r\n\r\n{"id":`)
      return socket
    }
    for (let index = 0; index < 8; index++) await upload()
    const rejected = await readAll(await upload())
    expect(statusOf(rejected)).toBe(503)
    expect(rejected).toMatch(/^Retry-After: 1\r$/m)
    expect(rejected).toMatch(/^Connection: close\r$/m)
    // A body that comes whole does not wait, and takes nothing.
    expect((await server.post('{"id": 1, "name": "Ficus"}')).status).toBe(200)
    const { token } = await server.createToken({ account: 'bob' })
    expect((await server.post(largeBody(), { token })).status).toBe(200)
  })

  test('that are ended or broken off give their memory back', async () => {
    await using server = await startTestServer({ maxBodyMemory: MEBIBYTE })
    for (let round = 0; round < 3; round++) {
      const socket = await open(server.url)
      socket.write(`${head('POST', '/plants', server.token)}Content-Type: application/json\r\n`)
      socket.write(`Transfer-Encoding: chunked\r\n\r\n${'4\r\n    \r\n'.repeat(10_000)}`)
      await sleep(50)
      socket.destroy()
      await until(async () => (await server.post(largeBody())).status === 200)
    }
  })
})

describe('shares', () => {
  test('of the requests that wait behind others, one address leaves some to the others', async () => {
    await using server = await startTestServer()
    // More than may wait on all connections together.
    for (let index = 0; index < 60; index++) {
      await openUnread(server, get(BUNDLE).repeat(2) + get('/nothing').repeat(98), '127.0.0.2')
    }
    const text = get('/nothing') + get('/nothing', undefined, { Connection: 'close' })
    const socket = await open(server.url)
    socket.write(text)
    expect((await readAll(socket)).match(/HTTP\/1\.1 404/g)).toHaveLength(2)
  })

  test('one account does not take everything that may be in flight', async () => {
    await using server = await startTestServer({ maxRequestsInFlight: 20, shutdownTimeout: 100 })
    for (let index = 0; index < 30; index++) {
      const socket = await open(server.url)
      socket.write(`${head('POST', '/plants', server.token)}Content-Type: application/json\r\n`)
      socket.write('Content-Length: 100\r\n\r\n{')
    }
    await until(async () => (await server.call('/plants')).status === 503)
    const { token } = await server.createToken({ account: 'bob' })
    expect((await server.call('/plants', { token })).status).toBe(200)
    // A request without a token is counted by address, and in flight only until it is rejected.
    expect((await server.call('/plants', { token: null })).status).toBe(401)
  })

  test('one address does not take all connections', async () => {
    await using server = await startTestServer({ maxConnections: 20, shutdownTimeout: 100 })
    const sockets: Socket[] = []
    for (let index = 0; index < 30; index++) sockets.push(await open(server.url, '127.0.0.2'))
    await until(() => sockets.filter(({ destroyed }) => destroyed).length >= 11)
    expect((await server.call('/plants')).status).toBe(200)
  })
})

describe('an event loop that is late', () => {
  test('because other programs have the processor sheds nothing', { timeout: 60_000 }, async () => {
    const { server, token } = await startWithToken(folder, 'starved')
    const callers = await Promise.all(Array.from({ length: 30 }, () => openCaller(server.url)))
    // The process gets the processor for a tenth of the time.
    let stopped = true
    const starving = setInterval(() => {
      server.signal(stopped ? 'SIGSTOP' : 'SIGCONT')
      stopped = !stopped
    }, 300)
    const statuses: number[] = []
    const end = performance.now() + 5_000
    await Promise.all(
      callers.map(async (caller, index) => {
        for (let id = index * 1_000; performance.now() < end; id++) {
          statuses.push((await caller.send(createRequest(token, id))).status)
          await sleep(20)
        }
      }),
    )
    clearInterval(starving)
    server.signal('SIGCONT')
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(await server.end()).toBe(0)
  })
})

function largeBody(): string {
  return JSON.stringify({ id: 2, name: 'x'.repeat(500_000) })
}

/** Opens a connection that sends and reads nothing. */
async function openUnread(server: { url: string }, request: string, localAddress?: string): Promise<Socket> {
  const socket = await open(server.url, localAddress)
  socket.pause()
  if (request !== '') socket.write(request)
  return socket
}

async function inFlight({ adminUrl }: TestServer): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  return Number(/^http_server_active_requests (\d+)$/m.exec(text)?.[1])
}
