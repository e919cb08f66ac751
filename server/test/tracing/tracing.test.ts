/** Traces the server with OpenTelemetry's own instrumentation, as docs/production/log.md says. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { installTools } from '../../../test/helpers/install-tools.ts'
import { codeBlock, readGuide } from '../../../test/helpers/production/guide.ts'
import { runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { readLines } from '../helpers/telemetry/log-lines.ts'

const guide = readGuide('log.md')
const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))

/** A span as OTLP sends it. */
interface Span {
  name: string
  kind: number
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: { key: string; value: Record<string, unknown> }[]
}

/** Starts a collector of traces, which is closed after the test. */
async function startTraceCollector(): Promise<{ url: string; spans: Span[] }> {
  const spans: Span[] = []
  const server = createServer(async (request, response) => {
    const { resourceSpans } = (await json(request)) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }
    spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
    response.setHeader('Content-Type', 'application/json').end('{}')
  })
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans }
}

function attributesOf(span: Span | undefined): Record<string, unknown> {
  return Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]))
}

test('the guide installs the versions that are tested', () => {
  const packages = Object.entries(dependencies).map(([name, version]) => `${name}@${version}`)
  expect(codeBlock(guide, 'Traces', 0)).toBe(`npm install ${packages.join(' ')}\n`)
})

test('requests and their statements are spans of the client’s trace, which the log names', async () => {
  const folder = await installTools(fileURLToPath(new URL('.', import.meta.url)))
  const register = path.join(folder, 'register.mjs')
  writeFileSync(register, codeBlock(guide, 'Traces', 0, 'js'))
  const variables = [...codeBlock(guide, 'Traces', 0, 'ini').matchAll(/^([A-Z_]+)=(.*)$/gm)]
  const collector = await startTraceCollector()
  const postgresql = await startPostgresql()
  onTestFinished(() => postgresql.remove())
  const DATABASE_URL = postgresql.url('postgres')
  expect((await runCommand(['migrate'], { DATABASE_URL })).exitCode).toBe(0)
  const { stdout } = await runCommand(['token', 'create', '--account', 'me'], { DATABASE_URL })
  const server = await startServerProcess({
    ...Object.fromEntries(variables.map(([, name, value]) => [name, value])),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    DATABASE_URL,
    ACCESS_LOG: 'on',
    NODE_OPTIONS: `--import=${register}`,
    SHUTDOWN_DELAY: '1s',
  })
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const headers = {
    authorization: `Bearer ${stdout.trim()}`,
    'content-type': 'application/json',
    traceparent: `00-${trace}-b7ad6b7169203331-01`,
  }
  const body = JSON.stringify({ id: 1, name: 'Ficus' })
  expect((await fetch(`${server.url}/plants`, { method: 'POST', headers, body })).status).toBe(200)
  expect((await fetch(`${server.url}/plants`, { headers })).status).toBe(200)
  expect(await server.end()).toBe(0)

  const traced = collector.spans.filter(({ traceId }) => traceId === trace)
  const statements = traced.filter(({ name }) => name.startsWith('pg.query'))
  for (const [method, statement] of [
    ['POST', /^\s*INSERT INTO "Plant"/],
    ['GET', /^\s*SELECT/],
  ] as const) {
    const request = traced.find(({ name }) => name === `${method} /plants`)
    expect(request).toMatchObject({ kind: 2, parentSpanId: 'b7ad6b7169203331' })
    expect(attributesOf(request)).toMatchObject({ 'http.route': '/plants', 'http.response.status_code': 200 })
    const handler = traced.find(({ name, parentSpanId }) => /^request/.test(name) && parentSpanId === request?.spanId)
    const within = statements.filter(({ parentSpanId }) => parentSpanId === handler?.spanId)
    expect(within.map((span) => attributesOf(span)['db.query.text'])).toContainEqual(expect.stringMatching(statement))
    const line = readLines(server.output()).find((each) => each['msg'] === `${method} /plants 200`)
    expect(line).toMatchObject({ trace_id: trace, span_id: request?.spanId })
  }
})
