/** Where the server listens, how it stops, and the admin port. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import net from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { OperatorError } from '@plant-store/prisma'
import { respondToHalfClosed } from '../node-internals.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { acceptBurstsFirst, trackConnections } from './connections.ts'
import type { HttpServer } from './http-server.ts'

/** Where to listen. */
export interface Port {
  host: string
  /** 0: any free one. */
  port: number
}

/** A port that a server listens on. */
export interface OpenPort {
  /** Such as `http://127.0.0.1:3000`. */
  url: string
  /**
   * Accepts no more connections, waits for requests in flight, and then closes all connections.
   *
   * @param timeout how long it waits at most, in milliseconds
   */
  close(timeout: number): Promise<void>
}

/** How many listeners a shared port has. */
const LISTENERS = 64
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
 * Listens on the public port. Node.js accepts one connection in a turn of the event loop (libuv since 1.45), so that a new
 * client would wait for seconds behind hundreds of others; of many listeners it accepts one each, and the operating system
 * shares the connections out among them. Where it cannot, such as on macOS and Windows, one listens.
 *
 * @throws OperatorError if the port cannot be listened on
 */
export async function openPublicPort(http: HttpServer, port: Port): Promise<OpenPort> {
  const { server } = http
  // A process of the same user may share a port of this one without noticing.
  await checkPort(port)
  acceptBurstsFirst(server)
  await listen(server, port, true).catch(() => listen(server, port))
  const { address, port: number } = server.address() as net.AddressInfo
  const others = Array.from({ length: LISTENERS - 1 }, () =>
    net.createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) => {
      server.emit('connection', socket)
    }),
  )
  await Promise.allSettled(others.map((other) => listen(other, { host: address, port: number }, true)))
  const listening = others.filter((other) => other.listening)
  return openPort(http, port.host, listening)
}

/** @throws OperatorError */
async function listen(server: net.Server, { host, port }: Port, reusePort = false, prefix = ''): Promise<void> {
  try {
    await once(server.listen({ host, port, reusePort }), 'listening')
  } catch (error) {
    throw portError(error, prefix, host, port)
  }
}

function openPort(
  { server, connections }: Pick<HttpServer, 'server' | 'connections'>,
  host: string,
  others: readonly net.Server[] = [],
): OpenPort {
  const { port } = server.address() as net.AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    async close(timeout): Promise<void> {
      // Repeatedly: `close` alone waits for those that become idle later.
      const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_INTERVAL)
      const abort = setTimeout(() => connections.destroyAll(), timeout)
      await Promise.all([server, ...others].map((listener) => once(listener.close(), 'close')))
      clearInterval(idle)
      clearTimeout(abort)
      // What belongs to a connection ends a moment after it.
      while (connections.count() > 0) await nextTurn()
    },
  }
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
): Promise<OpenPort> {
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
  const connections = trackConnections(server, MAX_ADMIN_CONNECTIONS)
  await listen(server, port, false, 'ADMIN_')
  return openPort({ server, connections }, port.host)
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
  if (code in mistakes) return new OperatorError(`${mistakes[code]}`, 2, cause)
  const inUse = `${name} ${port} on ${host} is already in use. Stop the other program or set another ${name}.`
  const other = `The server cannot listen on ${prefix}HOST ${host}, ${name} ${port}: ${code}.`
  return new OperatorError(code === 'EADDRINUSE' ? inUse : other, 1, cause)
}
