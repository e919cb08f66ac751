import { createServer, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { Metrics } from '../../telemetry/metrics.ts'
import { listen, type Port, respondToHalfClosed, stop } from './ports.ts'

/** How many connections it accepts: a part of the files that clients leave. */
const MAX_CONNECTIONS = 64

const WRONG_HOST = 'Host: must be an IP address, a name without a dot or under .internal, or the value of ADMIN_HOST.'

/**
 * Starts the private port of probes and metrics:
 *
 * - `/livez` 200 while the process responds at all; ignores the database, whose failure a restart does not fix.
 * - `/readyz` 200 while requests would succeed, writes too, otherwise 503 with the reason.
 * - `/metrics` in Prometheus text format.
 *
 * Other values of `Host` than {@link isOwnName} accepts get a 403.
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
  const server = createServer(
    { headersTimeout: 5_000, requestTimeout: 5_000 },
    ({ method, url, headers }, response) => {
      if (!isOwnName(headers.host, port.host)) return sendText(response, 403, WRONG_HOST)
      const page = method === 'GET' || method === 'HEAD' ? pages[url ?? ''] : undefined
      if (page) page(response)
      else sendText(response, 404, 'Not found. GET /livez, /readyz or /metrics.')
    },
  )
  respondToHalfClosed(server)
  server.maxConnections = MAX_CONNECTIONS
  return { url: await listen(server, port, 'ADMIN_'), close: () => stop(server, 0) }
}

/**
 * Whether a `Host` cannot be a name of another site. A page of such a site may let its name lead to this port, and then read
 * what the port responds (DNS rebinding). Browsers always send `Host`; health checks over HTTP/1.0 do not.
 */
function isOwnName(host: string | undefined, adminHost: string): boolean {
  if (!host) return true
  if (!URL.canParse(`http://${host}`)) return false
  const name = new URL(`http://${host}`).hostname.replace(/^\[|\]$|\.$/g, '')
  // No site can have a name without a dot, or one under these (RFC 6761, RFC 6762, and .internal of ICANN).
  const isPrivate = !name.includes('.') || /\.(?:localhost|local|internal)$/.test(name)
  return isPrivate || isIP(name) !== 0 || name === adminHost.toLowerCase()
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' })
  response.end(`${text}\n`)
}
