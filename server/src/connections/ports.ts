/** A port that a server listens on, and how it stops. */
import cluster from 'node:cluster'
import { once } from 'node:events'
import type { Server } from 'node:http'
import net from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { OperatorError } from '../operator-error.ts'
import type { Settings } from '../settings.ts'
import type { Connections } from './connections.ts'

/** Where to listen. */
type Address = Pick<Settings, 'host' | 'port'>

/** A port that a server listens on. */
export interface OpenPort {
  /** Such as `http://127.0.0.1:3000`. */
  readonly url: string
  readonly connections: Connections
  /**
   * Accepts no more connections, waits for requests in flight, and then closes all connections.
   *
   * @param timeout how long it waits at most, in milliseconds
   */
  close(timeout: number): Promise<void>
}

/** How long an idle connection may outlive the start of a shutdown, in milliseconds. */
const IDLE_CHECK_INTERVAL = 50

/**
 * Checks that a port can be listened on. A connection that arrives in this moment is closed.
 *
 * @throws {OperatorError}
 */
export async function checkPort({ host, port }: Address): Promise<void> {
  const server = net.createServer((socket) => socket.destroy())
  await listen(server, { host, port })
  await once(server.close(), 'close')
}

/**
 * Listens on a port.
 *
 * @param prefix of the settings that name the address. Default: none
 * @throws {OperatorError} if it cannot be listened on
 */
export async function openPort(
  server: Server,
  connections: Connections,
  address: Address,
  prefix = '',
): Promise<OpenPort> {
  // Lets a client end its side of a connection after its requests, as `nc -N` and some proxies do: it gets its responses,
  // and then the connection ends. By default, Node.js ends it before a response that takes more than a turn of the event
  // loop. It is not documented.
  Object.assign(server, { httpAllowHalfOpen: true })
  await listen(server, address, prefix)
  // The address of a name, such as localhost, may be any of several.
  const { address: host, family, port } = server.address() as net.AddressInfo
  return {
    connections,
    url: `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`,
    async close(timeout): Promise<void> {
      // Repeatedly: `close` alone waits for those that become idle later.
      const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_INTERVAL)
      const abort = setTimeout(() => server.closeAllConnections(), timeout)
      await once(server.close(), 'close')
      clearInterval(idle)
      clearTimeout(abort)
      // What belongs to a connection ends a moment after it.
      while (connections.count() > 0) await nextTurn()
    },
  }
}

async function listen(server: net.Server, { host, port }: Address, prefix = ''): Promise<void> {
  if (cluster.isWorker) throw new OperatorError(NO_WORKER)
  try {
    await once(server.listen({ host, port }), 'listening')
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    const values: Readonly<Record<string, string>> = { host, port: String(port) }
    const text = PORT_ERRORS[code] ?? `The server cannot listen on {HOST} {host}, {PORT} {port}: ${code}.`
    const message = text.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? prefix + name)
    // Only the port of another program may be free at the next attempt.
    throw new OperatorError(message, code in PORT_ERRORS && code !== 'EADDRINUSE' ? 2 : 1, cause)
  }
}

/** Each process would have limits and metrics of its own. */
const NO_WORKER =
  "The server cannot run in a cluster of processes that share a port: for PM2, set exec_mode 'fork' and instances 1."
const NOT_HERE = '{HOST} {host} is not an address of this machine. Set {HOST} to one that is.'
/** What each error code of a port says; `{HOST}` and `{PORT}` are the names of the settings. */
const PORT_ERRORS: Readonly<Record<string, string>> = {
  EACCES: '{PORT} {port} needs more privileges than this user has. Set a {PORT} above 1023.',
  EADDRINUSE: '{PORT} {port} on {host} is already in use. Stop the other program or set another {PORT}.',
  // Such as IPv6, or an interface that is missing.
  ...Object.fromEntries(['EADDRNOTAVAIL', 'ENOTFOUND', 'EINVAL', 'EAFNOSUPPORT'].map((code) => [code, NOT_HERE])),
}
