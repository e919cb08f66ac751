/** The admin port, with probes and metrics: a port of its own, so that they are answered however busy the public one is. */
import { createServer, type ServerResponse } from 'node:http'
import type { Settings } from '../settings.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { trackConnections } from './connections.ts'
import { type OpenPort, openPort } from './ports.ts'

/** What the admin port reads. */
export interface AdminSources {
  /** Returns why requests would fail, in a sentence; undefined: they would not. */
  whyNotReady(): Promise<string | undefined>
  /** Undefined until the public port is open. */
  metrics?: Metrics
}

/** How many connections it accepts. */
const MAX_CONNECTIONS = 64

/**
 * Starts the admin port, if the settings name one. It ignores queries.
 *
 * - `/livez` 200 while the process responds at all; ignores the database, whose failure a restart does not fix.
 * - `/readyz` 200 while requests would succeed, writes too, otherwise 503 with the reason.
 * - `/metrics` in Prometheus text format.
 *
 * A connection has one request, and all who ask for metrics at the same time get the same text, so that pipelined or
 * hundreds of scrapes neither wait in memory nor keep the public port waiting.
 *
 * @param sources may change meanwhile
 * @throws {OperatorError} if the port cannot be listened on
 */
export async function startAdminPort(
  { adminHost: host, adminPort: port }: Settings,
  sources: AdminSources,
): Promise<OpenPort | undefined> {
  if (port === undefined) return undefined
  let text: Promise<string> | undefined
  const pages: Record<string, (response: ServerResponse) => Promise<unknown>> = {
    '/livez': async (response) => sendText(response, 200, 'live'),
    '/readyz': async (response) => {
      const reason = await sources.whyNotReady()
      sendText(response, reason === undefined ? 200 : 503, reason ?? 'ready')
    },
    '/metrics': async (response) => {
      const { metrics } = sources
      if (!metrics) return sendText(response, 503, 'The server is starting.')
      text ??= metrics.text().finally(() => {
        text = undefined
      })
      return response.setHeader('Content-Type', metrics.contentType).end(await text)
    },
  }
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, (request, response) => {
    if (!connections.admit(request, response)) return
    const { method = '', url = '' } = request
    // The base is for a target without a host, and means nothing.
    const page = ['GET', 'HEAD'].includes(method) && pages[URL.parse(url, 'http://localhost')?.pathname ?? '']
    if (page) page(response).catch((error) => response.destroy(error))
    else sendText(response, 404, 'Not found. GET /livez, /readyz or /metrics.')
  })
  const connections = trackConnections(server, MAX_CONNECTIONS)
  connections.drain()
  return openPort(server, connections, { host, port }, 'ADMIN_')
}

function sendText(response: ServerResponse, status: number, text: string): void {
  const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' }
  response.writeHead(status, headers).end(`${text}\n`)
}
