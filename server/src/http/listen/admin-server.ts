import { createServer, type ServerResponse } from 'node:http'
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
export async function startAdminServer({ whyNotReady, metrics }: AdminSources, port: Port): Promise<AdminServer> {
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
  return { url: await listen(server, port, 'ADMIN_'), close: () => stop(server, 0) }
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' })
  response.end(`${text}\n`)
}
