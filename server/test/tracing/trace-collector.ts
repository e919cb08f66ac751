import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A span as OTLP sends it, with its attributes as an object. */
export interface CollectedSpan {
  name: string
  kind: number
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: Record<string, unknown>
}

/** A collector of traces. */
export interface TraceCollector {
  /** The settings of a server that sends traces to it. */
  environment: Record<string, string>
  spans: CollectedSpan[]
}

type Attribute = { key: string; value: Record<string, unknown> }

/** What a server sends. */
interface Export {
  resourceSpans: {
    scopeSpans: { spans: (Omit<CollectedSpan, 'attributes'> & { attributes: Attribute[] })[] }[]
  }[]
}

/** Starts a collector on a free port, which is closed after the test. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    request.on('end', () => {
      spans.push(...readSpans(text))
      response.setHeader('Content-Type', 'application/json').end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  }
  return { environment, spans }
}

function readSpans(text: string): CollectedSpan[] {
  const { resourceSpans }: Export = JSON.parse(text)
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
  return spans.map((span) => ({ ...span, attributes: readAttributes(span.attributes) }))
}

function readAttributes(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
