import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Metrics } from '../../telemetry/metrics.ts'
import { stop } from './http-server.ts'

/** What the admin server tells of. */
export interface AdminSources {
  /** Why the service is not ready to be sent requests; undefined: it is ready. */
  whyNotReady(): Promise<string | undefined>
  /** Undefined before there is anything to measure. */
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
 * - `/livez` 200 while the process answers at all; never asks the database, whose failure no restart mends.
 * - `/readyz` 200 while a request would be served and a write accepted, otherwise 503 with the reason.
 * - `/metrics` in the text format of Prometheus.
 *
 * @param listen takes the port and gives its address
 * @throws what `listen` throws
 */
export async function startAdminServer(
  sources: AdminSources,
  listen: (server: Server) => Promise<string>,
): Promise<AdminServer> {
  const pages = createPages(sources)
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, (request, response) => {
    const answer = request.method === 'GET' || request.method === 'HEAD' ? pages[request.url ?? ''] : undefined
    if (!answer) return sendText(response, 404, 'There are /livez, /readyz and /metrics here, for GET.')
    answer(request, response)
  })
  return { url: await listen(server), close: () => stop(server, 0) }
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
      if (!current) return sendText(response, 503, 'The service is starting.')
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
