/**
 * Clients that are slow, silent or greedy: what they may take, what others get meanwhile, and
 * that nothing is left of them.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { connect as connectDatabase } from '../../../test/helpers/database/databases.ts'
import { isLong, isNightly } from '../../../test/helpers/long-tests.ts'
import { memoryAtRest, memoryInUse } from '../../../test/helpers/memory-in-use.ts'
import { until } from '../../../test/helpers/programs.ts'
import { createRandom } from '../../../test/helpers/random.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { generateToken } from '../../src/accounts/tokens.ts'
import { createRequestsInFlight } from '../../src/connections/places.ts'
import { openSocket, readAll, readResponses } from '../helpers/connection.ts'
import { addLongList, attack, keepConnecting } from '../helpers/hostile-clients.ts'
import { expectMetric } from '../helpers/read-metric.ts'
import { get, KEEP_ALIVE, listPlants, NO_TOKEN, post, postHead, withToken } from '../helpers/requests.ts'
import { serveApp } from '../helpers/serve-app.ts'
import { rejects } from '../helpers/wire.ts'

const OPEN = { ...KEEP_ALIVE, ...NO_TOKEN }
const GET_BUNDLE = get('/docs/swagger-ui-bundle.js', OPEN)
const MEBIBYTE = 2 ** 20
/** How often memory is looked at, which takes a garbage collection: in milliseconds. */
const RARELY = { interval: 200 }
const IN_FLIGHT = 'plant_store_requests_in_flight'

const shutdown = { adminPort: 0, shutdownTimeout: 100 }
const limited = await startTestServer({ maxConnections: 90, ...shutdown })
const server = await startTestServer(shutdown)

/** Stops clocks, and what is done at intervals, until the test ends; returns what lets time pass. */
function stopTime(): (milliseconds: number) => Promise<void> {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  return async (milliseconds) => {
    vi.advanceTimersByTime(milliseconds)
    await nextTurn()
  }
}

test('clients that read a static file, a list or one of many pieces a few bytes at a time are disconnected', async () => {
  const pass = stopTime()
  await addLongList(server.databaseUrl, 'alice', 1)
  const longList = listPlants(await createLongList(server, 'bob'))
  // More than the operating system buffers.
  const wires = [GET_BUNDLE.repeat(10), listPlants(server.token).repeat(10), longList]
  const sockets = await Promise.all(wires.map((wire) => open(server, wire)))
  await expectMetric(server, IN_FLIGHT).toBeGreaterThan(3)
  while (!sockets.every(({ destroyed }) => destroyed)) {
    for (const socket of sockets) {
      socket.read(64)
      // Fails once the server has closed the connection; as part of a request it means nothing.
      socket.write('\r\n')
    }
    await pass(4_000)
  }
  expect((await server.call('/plants?limit=1')).status).toBe(200)
  await expectMetric(server, IN_FLIGHT).toBe(0)
})

test('a client that reads steadily gets a response however long it takes', async () => {
  const pass = stopTime()
  const requestsInFlight = createRequestsInFlight({ maxRequestsInFlight: 10, trustProxy: undefined })
  const url = await serveApp((app) =>
    app.use((request, response) => {
      requestsInFlight.add(request, response)
      // One write, of which the operating system takes a part at a time.
      response.end(Buffer.alloc(64 * MEBIBYTE))
    }),
  )
  const socket = await open({ url }, get())
  for (let time = 0; time < 80_000; time += 100) {
    socket.read(Math.min(socket.readableLength, 64 * 1024))
    await pass(100)
    expect(socket.destroyed).toBe(false)
  }
  socket.resume()
  await once(socket, 'close')
  expect(socket.bytesRead).toBeGreaterThan(64 * MEBIBYTE)
})

const STALLED = `${postHead({ 'Content-Length': '1000' })}{`

test('a request that waits for the database keeps its plant, and no bytes or text of its body', async () => {
  // No write is late, however busy the machine is; a probe, which `/metrics` waits for, is so immediately.
  vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  const times: Record<number, number> = { 2300: TIMEOUT, 2500: 0 }
  const start = setTimeout
  const timers = vi.spyOn(globalThis, 'setTimeout')
  timers.mockImplementation((act, time = 0, ...rest) => start(act, times[time] ?? time, ...rest))
  onTestFinished(() => void vi.restoreAllMocks())
  await using server = await startTestServer(shutdown)
  const other = connectDatabase(fileURLToPath(server.databaseUrl))
  other.exec('BEGIN IMMEDIATE')
  const COUNT = 100
  const before = await memoryAtRest()
  for (let id = 0; id < COUNT; id++) {
    // With one character of four bytes, all characters of the text take two; the database gets none of `other`.
    const body = { id, name: `🌱${'x'.repeat(90_000)}`, other: 'x'.repeat(9_000) }
    await open(server, post(JSON.stringify(body)))
  }
  await expectMetric(server, IN_FLIGHT).toBe(COUNT)
  const memoryOfEach = () => (memoryInUse() - before) / COUNT
  await expect.poll(memoryOfEach, RARELY).toBeGreaterThan(150_000)
  await expect.poll(memoryOfEach, RARELY).toBeLessThan(240_000)
  other.close()
})

test('one address cannot take all connections', async () => {
  const sockets = await Promise.all(Array.from({ length: 100 }, () => open(limited, '', '127.0.0.2')))
  await until(() => sockets.filter(({ destroyed }) => destroyed).length >= 20)
  expect((await limited.call('/plants')).status).toBe(200)
  // Those that are open go on.
  sockets[0]?.write(withToken(get(), limited.token))
  expect(await readStatus(sockets[0] as Socket)).toBe(200)
})

const impatient = await startTestServer({ requestTimeout: 600, keepAliveTimeout: 300 })

test('a connection that is silent, or whose head or body does not end, gets a 408, and an idle one is closed', async () => {
  const wires = ['', 'GET /plants HTTP/1.1\r\nHost: x\r\n', STALLED]
  const late = wires.map((wire) => rejects(impatient, wire, 40800, { headers: { Connection: 'close' } }))
  const idle = open(impatient, get('/nothing', OPEN)).then(readStatus)
  expect(await Promise.all([idle, ...late])).toEqual([404, ...late.map(() => undefined)])
})

/** Creates a long list of an account, and returns a token of it. */
async function createLongList(server: TestServer, account: string): Promise<string> {
  await addLongList(server.databaseUrl, account)
  return (await server.createToken({ account })).token
}

/** Opens a connection that sends a request, and reads nothing yet. */
async function open({ url, token = '' }: { url: string; token?: string }, wire: string, localAddress?: string) {
  const socket = await openSocket(url, localAddress === undefined ? {} : { localAddress })
  socket.pause().write(withToken(wire, token), 'latin1')
  return socket
}

/** Reads the status of the only response until the connection closes. */
async function readStatus(socket: Socket): Promise<number | undefined> {
  return readResponses(await readAll(socket))[0]?.status
}

const COUNT = isNightly ? 20_000 : isLong ? 2_000 : 50
/** How long they may take on a busy machine, in milliseconds. */
const TIMEOUT = 1_800_000
/** How many connections are open at the same time. */
const CLIENTS = 32
const random = createRandom()

/** Opens connections and aborts them at random, until the server has none. */
async function abort(server: TestServer, count: number): Promise<void> {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  let begun = 0
  for (let client = 0; client < CLIENTS; client++) {
    keepConnecting(server.url, stop.signal, (socket) => {
      if (++begun >= count) stop.abort()
      attack(socket, server.token, generateToken(), random)
      setTimeout(() => socket.destroy(), 100 * random())
    })
  }
  await once(stop.signal, 'abort')
  for (const name of ['open_connections', 'requests_in_flight']) {
    await expectMetric(server, `plant_store_${name}`).toBe(0)
  }
}

test('while hostile clients of every kind take what they get, another account is served, and what it creates is stored', async () => {
  // Fewer than there are hostile clients: what waits for one of them has to give way.
  await using server = await startTestServer({ maxRequestsInFlight: 20, ...shutdown })
  await addLongList(server.databaseUrl, 'alice')
  const { token } = await server.createToken({ account: 'bob' })
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  for (let client = 0; client < 2 * CLIENTS; client++) {
    keepConnecting(server.url, stop.signal, (socket) => {
      if (client < CLIENTS) socket.write(withToken(STALLED, server.token))
      else attack(socket, server.token, generateToken(), random)
    })
  }
  const created: { name: string }[] = []
  let rejected = 0
  const end = performance.now() + (isLong ? 10_000 : 2_000)
  while (created.length < 10 || performance.now() < end) {
    const name = `plant ${created.length}`
    const { status } = await server.post(JSON.stringify({ id: created.length, name }), { token })
    if (status === 200) created.push({ name })
    else rejected++
  }
  expect(rejected / created.length).toBeLessThan(0.01)
  expect(await (await server.call('/plants', { token })).json()).toEqual(created)
})

test('of connections that are aborted in every way, nothing stays', { timeout: TIMEOUT }, async () => {
  await using server = await startTestServer({ adminPort: 0, requestTimeout: 2_000 })
  await addLongList(server.databaseUrl, 'alice', 1)
  await abort(server, 50)
  const memory = await memoryAtRest()
  // Connections, timers and whatever else keeps a process running.
  const { length: resources } = process.getActiveResourcesInfo()
  await abort(server, COUNT)
  await expect.poll(() => memoryInUse() - memory, RARELY).toBeLessThan(4 * MEBIBYTE)
  // A poll that goes on has a timer itself.
  await expect.poll(() => process.getActiveResourcesInfo().length).toBeLessThanOrEqual(resources + 1)
})
