import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'

interface Span {
  name: string
  traceId: string
  parentSpanId?: string
  attributes: { key: string; value: Record<string, unknown> }[]
}

test('with the standard variables, each request sends a span, a child of the client’s span', async () => {
  const spans: Span[] = []
  const collector = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    request.on('end', () => {
      const { resourceSpans } = JSON.parse(text)
      for (const { resource, scopeSpans } of resourceSpans) {
        expect(JSON.stringify(resource)).toContain('"plant-store"')
        for (const scope of scopeSpans) spans.push(...scope.spans)
      }
      response.setHeader('Content-Type', 'application/json').end('{}')
    })
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  try {
    const server = await startServerProcess({
      DATABASE_URL: temporaryDatabase().url,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    })
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    await fetch(`${server.url}/plants?access_token=secret`, {
      headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01`, 'x-request-id': 'my-request' },
    })
    await fetch(`${server.url}/nothing`)
    // Shutdown sends the remaining spans.
    expect(await server.end()).toBe(0)

    expect(spans.map(({ name }) => name)).toEqual(['GET /plants', 'GET'])
    const [first] = spans
    expect(first).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331' })
    const attributes = Object.fromEntries(
      first?.attributes.map(({ key, value }) => [key, Object.values(value)[0]]) ?? [],
    )
    expect(attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 401,
      'http.route': '/plants',
      'plant_store.request_id': 'my-request',
      'url.path': '/plants',
    })
    expect(JSON.stringify(spans)).not.toContain('password')
  } finally {
    collector.close()
  }
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
