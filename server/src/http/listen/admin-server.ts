import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import { listen, type Port, stop } from './ports.ts'

/** What the admin server reports. */
export interface AdminSources {
  /** Why requests would fail, in a sentence; undefined: they would not. */
  whyNotReady(): Promise<string | undefined>
  /** Undefined until the database is open. */
  metrics(): Metrics | undefined
}

/** A running admin server. */
export interface AdminServer {
  url: string
  close(): Promise<void>
}

/**
 * Starts the private port of probes and metrics:
 *
 * - `/livez` 200 while the process responds at all; ignores the database, whose failure a restart does not fix.
 * - `/readyz` 200 while requests would succeed, writes too, otherwise 503 with the reason.
 * - `/metrics` in Prometheus text format.
 *
 * @throws StartError if the port cannot be listened on
 */
export async function startAdminServer(sources: AdminSources, port: Port): Promise<AdminServer> {
  const pages = createPages(sources)
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, (request, response) => {
    const page = request.method === 'GET' || request.method === 'HEAD' ? pages[request.url ?? ''] : undefined
    if (!page) return sendText(response, 404, 'Not found. GET /livez, /readyz or /metrics.')
    page(request, response)
  })
  return { url: await listen(server, port, 'ADMIN_'), close: () => stop(server, 0) }
}

function createPages({ whyNotReady, metrics }: AdminSources): Record<string, RequestListener> {
  return {
    '/livez': (_request, response) => sendText(response, 200, 'live'),
    '/readyz': async (_request, response) => {
      const reason = await whyNotReady()
      sendText(response, reason === undefined ? 200 : 503, reason ?? 'ready')
    },
    '/metrics': async (_request, response) => {
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
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' })
  response.end(`${text}\n`)
}
