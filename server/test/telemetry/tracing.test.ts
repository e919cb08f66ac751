import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { readVersion } from '../../src/installation.ts'
import { eventLines } from '../helpers/telemetry/log-lines.ts'
import { startTraced } from '../helpers/telemetry/start-traced.ts'
import { openSocket } from '../helpers/wire/connection.ts'
import { post, withToken } from '../helpers/wire/requests.ts'

// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const sampled = { traceparent: `00-${TRACE}-${PARENT}-01` }

test('each request sends a span, a child of the client’s, by the conventions for HTTP', async () => {
  const { server, call, end } = await startTraced({ TRUST_PROXY: '1', ACCESS_LOG: 'on' })
  const headers = {
    ...sampled,
    'x-request-id': 'my-request',
    'x-forwarded-for': '192.0.2.7',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'plants.example.com',
    'user-agent': 'tests/1',
  }
  await call('/plants?access_token=secret', { headers })
  await call('/nothing')
  const [first, second] = await end()
  expect(first).toMatchObject({ name: 'GET /plants', kind: 2, traceId: TRACE, parentSpanId: PARENT })
  expect(first?.attributes).toEqual({
    'client.address': '192.0.2.7',
    'http.request.method': 'GET',
    'http.response.status_code': 200,
    'http.route': '/plants',
    'network.peer.address': '127.0.0.1',
    'network.protocol.version': '1.1',
    'plant_store.request_id': 'my-request',
    'server.address': 'plants.example.com',
    'server.port': 443,
    'url.path': '/plants',
    'url.scheme': 'https',
    'user_agent.original': 'tests/1',
  })
  expect(first?.status.code ?? 0).toBe(0)
  expect(first?.resource).toMatchObject({ 'service.name': 'plant-store', 'service.version': readVersion() })
  expect(second).toMatchObject({ name: 'GET', attributes: { 'http.response.status_code': 404, 'url.scheme': 'http' } })
  expect(second?.attributes).toMatchObject({
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(server.url).port),
  })
  expect(second?.attributes).not.toHaveProperty('error.type')
  // The access log leads to the trace.
  expect(eventLines(server.output(), 'request')).toMatchObject([
    { requestId: 'my-request', traceId: TRACE },
    { status: 404 },
  ])
})

test('a method that the conventions do not know has no name of its own', async () => {
  const { call, end } = await startTraced()
  await call('/plants', { method: 'PROPFIND' })
  expect(await end()).toMatchObject([
    {
      name: 'HTTP /plants',
      attributes: { 'http.request.method': '_OTHER', 'http.request.method_original': 'PROPFIND' },
    },
  ])
})

test('a client that disconnects is an error without a status', async () => {
  const { server, token, end } = await startTraced({ ACCESS_LOG: 'on' })
  const socket = await openSocket(server.url)
  // The server responds once the rest of the body is there, and says that it waits for it.
  socket.write(withToken(post('{}', { 'Content-Length': '100', Expect: '100-continue' }), token))
  await once(socket, 'data')
  socket.destroy()
  await until(() => server.output().includes('"status":499'), 60_000)
  const [span] = await end()
  expect(span).toMatchObject({ attributes: { 'error.type': 'client_disconnected' }, status: { code: 2 } })
  expect(span?.attributes).not.toHaveProperty('http.response.status_code')
})

describe('OTEL_TRACES_SAMPLER', () => {
  test.each([
    ['always_off', '', [false, false]],
    ['traceidratio', '0', [false, false]],
    ['parentbased_traceidratio', '0', [true, false]],
    ['parentbased_always_on', '', [true, true]],
  ])('%s decides which requests are sent', async (sampler, argument, [withParent, withoutParent]) => {
    const { call, end } = await startTraced({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument })
    await call('/plants', { headers: sampled })
    await call('/nothing')
    const names = (await end()).map(({ name }) => name)
    expect([names.includes('GET /plants'), names.includes('GET')]).toEqual([withParent, withoutParent])
  })
})

test('an unavailable collector is logged once a minute without credentials, and when it is available again', {
  timeout: 150_000,
}, async () => {
  const port = await freePort()
  const server = await startServerProcess({
    DATABASE_URL: temporaryDatabase().url,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://me:password@127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  })
  const lines = (text: string) => server.output().match(new RegExp(`^.*${text}.*$`, 'gm')) ?? []
  const request = () => fetch(`${server.url}/nothing`)
  await request()
  await until(() => lines('traces are lost').length > 0, 60_000)
  expect(JSON.parse(lines('traces are lost')[0] ?? '')).toMatchObject({
    level: 'warn',
    lostSpans: 1,
    collector: `http://127.0.0.1:${port}/`,
  })
  await request()

  const collector = createServer((_request, response) => response.end()).listen(port, '127.0.0.1')
  try {
    await vi.waitUntil(async () => (await request()) && lines('accepts traces again').length > 0, {
      timeout: 60_000,
      interval: 100,
    })
  } finally {
    collector.close()
    collector.closeAllConnections()
  }
  expect(lines('traces are lost')).toHaveLength(1)

  // Shutdown waits at most three seconds for it, and succeeds.
  await request()
  expect(await server.end()).toBe(0)
  expect(server.output()).not.toContain('password')
})

// A busy machine makes the shutdown longer, never shorter: one attempt in time is enough.
test('a collector that does not respond delays a shutdown that has used up its time by one second, not by three', {
  retry: 5,
}, async () => {
  let begin = 0
  let end = 0
  const collector = createServer(({ socket }) => {
    begin = performance.now()
    socket.once('close', () => {
      end = performance.now()
    })
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void collector.close())
  const server = await startServerProcess({
    DATABASE_URL: temporaryDatabase().url,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_BSP_SCHEDULE_DELAY: '60000',
    SHUTDOWN_TIMEOUT: '10ms',
  })
  await fetch(`${server.url}/nothing`)
  expect(await server.end()).toBe(0)
  await until(() => end > 0, 60_000)
  expect(end - begin).toBeLessThan(2_500)
})

test('variables of other signals, and of commands that send no traces, are not checked', async () => {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }
  const server = await startServerProcess({
    ...environment,
    DATABASE_URL: temporaryDatabase().url,
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_BSP_MAX_QUEUE_SIZE: 'many',
  })
  expect(await server.end()).toBe(0)
  const { url } = temporaryDatabase()
  expect((await runCommand(['migrate'], { ...environment, DATABASE_URL: url })).exitCode).toBe(0)
})

test('an unsupported protocol is rejected at startup', async () => {
  const { exitCode, stderr } = await runCommand(['serve'], {
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
  })
  expect(exitCode).toBe(2)
  expect(stderr).toMatch(/^plant-store: [^\n]*\n {2}OTEL_EXPORTER_OTLP_PROTOCOL must be .*\n$/)
})
