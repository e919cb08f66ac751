import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { until } from '../../../test/helpers/until.ts'
import { open, readAll } from '../helpers/open-socket.ts'
import { errorOf, sendRaw, statusOf } from '../helpers/send-raw.ts'

describe('requests in flight', () => {
  test('beyond the limit a request is answered 503 with Retry-After at once; one that ends makes room', async () => {
    await using server = await startTestServer({ maxRequestsInFlight: 2 })
    const slow = [await beginUpload(server, 1), await beginUpload(server, 2)] as const

    const refused = await server.call('/plants')
    expect(refused.status).toBe(503)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused.json()).toMatchObject({ error: 50300 })

    expect(statusOf(await slow[0].finish())).toBe(200)
    await until(async () => (await server.call('/plants')).status === 200)
    expect(statusOf(await slow[1].finish())).toBe(200)
    expect(await (await server.call('/plants')).json()).toHaveLength(2)
  })

  test('a caller that goes away makes room', async () => {
    await using server = await startTestServer({ maxRequestsInFlight: 1 })
    const { socket } = await beginUpload(server, 1)
    expect((await server.call('/plants')).status).toBe(503)
    socket.destroy()
    await until(async () => (await server.call('/plants')).status === 200)
  })
})

test('while the event loop is late because of its own work, requests are answered 503; then 200 again', async () => {
  await using server = await startTestServer({ maxEventLoopDelay: 50, shutdownTimeout: 100 })
  // Where little is in flight, shedding would not help.
  for (let id = 1; id <= 20; id++) await beginUpload(server, id)
  let busy = true
  const work = () => {
    const end = performance.now() + 150
    while (performance.now() < end);
    if (busy) setTimeout(work, 1)
  }
  work()
  try {
    await until(async () => (await server.call('/plants')).status === 503)
  } finally {
    busy = false
  }
  await until(async () => (await server.call('/plants')).status === 200)
})

test('a single long task sheds nothing', async () => {
  await using server = await startTestServer({ maxEventLoopDelay: 250 })
  await sleep(600)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
  const statuses = []
  for (let request = 0; request < 20; request++) {
    statuses.push((await server.call('/plants')).status)
    await sleep(30)
  }
  expect(new Set(statuses)).toEqual(new Set([200]))
})

test('connections beyond the limit are closed as they come, and those that are open go on', async () => {
  await using server = await startTestServer({ maxConnections: 2, shutdownTimeout: 100 })
  const first = await open(server.url)
  await open(server.url)
  const third = await open(server.url)
  await once(third, 'close')

  first.write(`GET /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\nConnection: close\r\n\r\n`)
  expect(statusOf(await readAll(first))).toBe(200)
})

describe('slow and silent callers', () => {
  const limits = { headersTimeout: 300, requestTimeout: 600, keepAliveTimeout: 300, stallTimeout: 1_000 }

  test.each([
    ['a silent connection', ''],
    ['headers that do not end', 'GET /plants HTTP/1.1\r\nHost: x\r\n'],
    [
      'a body that does not end',
      'POST /plants HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\nAuthorization: TOKEN\r\n\r\n{',
    ],
  ])('%s is answered 408 and closed', async (_name, text) => {
    await using server = await startTestServer(limits)
    const authorization = `Bearer ${server.token}\r\nContent-Type: application/json`
    const answer = await sendRaw(server.url, text.replace('TOKEN', authorization), { quiet: 10_000 })
    expect(statusOf(answer)).toBe(408)
    expect(errorOf(answer).error).toBe(40800)
    expect(answer).toMatch(/^Connection: close\r$/m)
  })

  test('headers that come byte by byte take no longer', async () => {
    await using server = await startTestServer(limits)
    const socket = await open(server.url)
    socket.write('GET /plants HTTP/1.1\r\nHost: ')
    const dripping = setInterval(() => socket.write('x'), 50)
    const answer = await readAll(socket)
    clearInterval(dripping)
    expect(statusOf(answer)).toBe(408)
  })

  test('a connection between two requests is closed when it has been idle for long', async () => {
    await using server = await startTestServer(limits)
    const socket = await open(server.url)
    socket.write('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(statusOf(await readAll(socket))).toBe(404)
  })

  test('a caller that does not read its list is cut off, and has cost little memory', async () => {
    await using server = await startTestServer({ stallTimeout: 3_000, bodyLimit: 8 * 2 ** 20 })
    const name = 'x'.repeat(4 * 2 ** 20)
    for (let id = 1; id <= 16; id++) await server.post(JSON.stringify({ id, name }))
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed

    const socket = await open(server.url)
    socket.pause()
    socket.write(`GET /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\n\r\n`)
    await sleep(500)
    const grown = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed - before
    expect(grown).toBeLessThan(40 * 2 ** 20)

    await sleep(6_000)
    // What the systems between have buffered is still there to be read, but the list does not end.
    const received = await readAll(socket)
    expect(received.length).toBeLessThan(16 * name.length)
    expect(received.endsWith('0\r\n\r\n')).toBe(false)
    expect((await server.call('/plants?limit=1')).status).toBe(200)
  })
})

test('a caller that sends a body too large reads its 413 before the connection is closed', async () => {
  await using server = await startTestServer({ bodyLimit: 1_000 })
  const size = 8 * 2 ** 20
  const head = `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\n`
  for (const framing of [
    `Content-Length: ${size}\r\n\r\n`,
    `Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n`,
  ]) {
    const socket = await open(server.url)
    // The whole body is sent before anything is read.
    socket.pause()
    socket.write(head + framing)
    await new Promise((resolve) => socket.write(Buffer.alloc(size, ' '), resolve))
    const answer = await readAll(socket)
    expect(statusOf(answer)).toBe(413)
    expect(errorOf(answer).error).toBe(41300)
  }
})

/** Sends all of a request but the end of its body, and waits until the server has asked for that. */
async function beginUpload(server: TestServer, id: number): Promise<{ socket: Socket; finish(): Promise<string> }> {
  const body = JSON.stringify({ id, name: 'Ficus' })
  const socket = await open(server.url)
  socket.write(
    `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
  )
  const [interim] = await once(socket, 'data')
  expect(String(interim)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  return {
    socket,
    finish() {
      socket.write(body)
      return readAll(socket)
    },
  }
}
