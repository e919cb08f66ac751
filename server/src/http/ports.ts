/** Where the server listens, how it stops, and the admin port. */
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import net from 'node:net'
import { OperatorError } from '@plant-store/prisma'
import type { Metrics } from '../telemetry/metrics.ts'

/** Where to listen. */
export interface Port {
  host: string
  /** 0: any free one. */
  port: number
}

/** How long an idle connection may outlive the start of a shutdown, in milliseconds. */
const IDLE_CHECK_INTERVAL = 50
/** How many connections the admin port accepts: a part of the files that clients leave. */
const MAX_ADMIN_CONNECTIONS = 64

/**
 * Checks that a port can be listened on. A connection that arrives in this moment is closed.
 *
 * @throws OperatorError
 */
export async function checkPort(port: Port): Promise<void> {
  const server = net.createServer((socket) => socket.destroy())
  await listen(server, port)
  await once(server.close(), 'close')
}

/**
 * Listens; resolves with the URL.
 *
 * @param prefix that of the settings that name the port
 * @throws OperatorError
 */
export async function listen(server: net.Server, { host, port }: Port, prefix = ''): Promise<string> {
  try {
    await once(server.listen({ host, port }), 'listening')
  } catch (error) {
    throw portError(error, prefix, host, port)
  }
  return `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as net.AddressInfo).port}`
}

/**
 * Lets a client end its side of a connection after its requests, as `nc -N` and some proxies do: it gets its responses, and
 * then the connection ends. By default, Node.js ends it before a response that takes more than a turn of the event loop.
 */
export function respondToHalfClosed(server: Server): void {
  // Neither the documentation of Node.js nor its types have this property.
  Object.assign(server, { httpAllowHalfOpen: true })
}

/**
 * Accepts no more connections, waits for requests in flight, and aborts them after a timeout. Idle connections are closed
 * repeatedly: `close` alone waits for those that become idle later.
 *
 * @param timeout in milliseconds
 */
export function stop(server: Server, timeout: number): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_INTERVAL)
    const abort = setTimeout(() => server.closeAllConnections(), timeout)
    server.close(() => {
      clearInterval(idle)
      clearTimeout(abort)
      resolve()
    })
  })
}

/**
 * Starts the admin port of probes and metrics:
 *
 * - `/livez` 200 while the process responds at all; ignores the database, whose failure a restart does not fix.
 * - `/readyz` 200 while requests would succeed, writes too, otherwise 503 with the reason.
 * - `/metrics` in Prometheus text format.
 *
 * @param whyNotReady returns why requests would fail, in a sentence; undefined: they would not
 * @param metrics undefined until the database is open
 * @throws OperatorError if the port cannot be listened on
 */
export async function startAdminPort(
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
  server.maxConnections = MAX_ADMIN_CONNECTIONS
  return { url: await listen(server, port, 'ADMIN_'), close: () => stop(server, 0) }
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' })
  response.end(`${text}\n`)
}

function portError(cause: unknown, prefix: string, host: string, port: number): OperatorError {
  const { code = '' } = cause as NodeJS.ErrnoException
  const name = `${prefix}PORT`
  const notHere = `${prefix}HOST ${host} is not an address of this machine. Set ${prefix}HOST to one that is.`
  const mistakes: Record<string, string> = {
    EACCES: `${name} ${port} needs more privileges than this user has. Set a ${name} above 1023.`,
    EADDRNOTAVAIL: notHere,
    ENOTFOUND: notHere,
    // A link-local address of a network interface that is missing, and IPv6 where there is none.
    EINVAL: notHere,
    EAFNOSUPPORT: notHere,
  }
  const inUse = `${name} ${port} on ${host} is already in use. Stop the other program or set another ${name}.`
  const other = `The server cannot listen on ${prefix}HOST ${host}, ${name} ${port}: ${code}.`
  const failure = code === 'EADDRINUSE' ? inUse : other
  return new OperatorError(mistakes[code] ?? failure, code in mistakes ? 2 : 1, cause)
}
