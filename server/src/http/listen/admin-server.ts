import { createServer, type ServerResponse } from 'node:http'
import type { Metrics } from '../../telemetry/metrics.ts'
import { listen, type Port, respondToHalfClosed, stop } from './ports.ts'

/** How many connections it accepts: a part of the files that clients leave. */
const MAX_CONNECTIONS = 64

/**
 * Starts the private port of probes and metrics:
 *
 * - `/livez` 200 while the process responds at all; ignores the database, whose failure a restart does not fix.
 * - `/readyz` 200 while requests would succeed, writes too, otherwise 503 with the reason.
 * - `/metrics` in Prometheus text format.
 *
 * @param whyNotReady returns why requests would fail, in a sentence; undefined: they would not
 * @param metrics undefined until the database is open
 * @throws StartError if the port cannot be listened on
 */
export async function startAdminServer(
  port: Port,
  whyNotReady: () => Promise<string | undefined>,
  metrics: () => Metrics | undefined,
) {
  const pages: Record<string, (response: ServerResponse) => unknown> = {
    '/livez': (response) => sendText(response, 200, 'live'),
    '/readyz': async (response) => {
      const reason = await whyNotReady()
      sendText(response, reason === undefined ? 200 : 503, reason ?? 'ready')
    },
    '/metrics': async (response) => {
      const current = metrics()
      if (!current) return sendText(response, 503, 'The server is starting.')
      try {
        response.setHeader('Content-Type', current.contentType)
        response.end(await current.text())
      } catch (error) {
        response.destroy(error as Error)
      }
    },
  }
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, ({ method, url }, response) => {
    const page = method === 'GET' || method === 'HEAD' ? pages[url ?? ''] : undefined
    if (page) page(response)
    else sendText(response, 404, 'Not found. GET /livez, /readyz or /metrics.')
  })
  respondToHalfClosed(server)
  server.maxConnections = MAX_CONNECTIONS
  return { url: await listen(server, port, 'ADMIN_'), close: () => stop(server, 0) }
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' })
  response.end(`${text}\n`)
}
