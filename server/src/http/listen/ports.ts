import type { Server } from 'node:http'
import net from 'node:net'
import { promisify } from 'node:util'

/** The server cannot start. The message says in one sentence what to do. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** Where to listen. */
export interface Port {
  host: string
  /** 0: any free one. */
  port: number
  /** An inherited socket to listen on instead. */
  descriptor?: number | undefined
}

/** How many connections may wait on an inherited socket until a process accepts them; the kernel may allow fewer. */
const BACKLOG = 4_096
/** How long an idle connection may outlive the start of a shutdown, in milliseconds. */
const IDLE_CHECK_INTERVAL = 50

/**
 * Checks that a port can be listened on. A connection that arrives in this moment is closed. An inherited socket is not
 * checked: connections wait in it.
 *
 * @throws StartError
 */
export async function checkPort(port: Port): Promise<void> {
  if (port.descriptor !== undefined) return
  const server = net.createServer((socket) => socket.destroy())
  await listen(server, port)
  await promisify(server.close.bind(server))()
}

/**
 * Listens; resolves with the URL.
 *
 * @param prefix that of the settings that name the port
 * @throws StartError
 */
export async function listen(server: net.Server, { host, port, descriptor }: Port, prefix = ''): Promise<string> {
  try {
    await new Promise<void>((resolve, reject) => {
      const options = descriptor === undefined ? { port, host } : { fd: descriptor, backlog: BACKLOG }
      server.once('error', reject).listen(options, () => {
        server.off('error', reject)
        resolve()
      })
    })
  } catch (error) {
    throw descriptor === undefined ? portError(error, prefix, host, port) : notListenable((error as Error).message)
  }
  const address = server.address()
  if (typeof address !== 'object' || !address?.port) throw notListenable('it is not a TCP socket')
  const name = descriptor === undefined ? host : address.address
  return `http://${name.includes(':') ? `[${name}]` : name}:${address.port}`
}

/**
 * Accepts no more connections from an inherited socket: they wait in the kernel for the next process. Open connections
 * stay open, idle ones too. Resolves when all of them have closed.
 */
export function stopAccepting(server: Server): Promise<void> {
  // The method of http.Server closes idle connections, on which a client may be sending a request.
  return new Promise((resolve) => net.Server.prototype.close.call(server, () => resolve()))
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

/** An error in the sockets that systemd passes. */
export function socketError(mistake: string): StartError {
  return new StartError(
    `${mistake}. Start the server with a socket unit of systemd, or unset it to listen on HOST and PORT.`,
  )
}

function notListenable(reason: string): StartError {
  return socketError(`LISTEN_FDS passes a socket that the server cannot listen on: ${reason}`)
}

function portError(cause: unknown, prefix: string, host: string, port: number): StartError {
  const { code = '' } = cause as NodeJS.ErrnoException
  const name = `${prefix}PORT`
  const advice: Record<string, string> = {
    EADDRINUSE: `${name} ${port} on ${host} is already in use. Stop the other program or set another ${name}.`,
    EACCES: `${name} ${port} needs more privileges than this user has. Set a ${name} above 1023.`,
    EADDRNOTAVAIL: `${prefix}HOST ${host} is not an address of this machine. Set ${prefix}HOST to one that is.`,
  }
  const other = `The server cannot listen on ${prefix}HOST ${host}, ${name} ${port}: ${code}.`
  return new StartError(advice[code === 'ENOTFOUND' ? 'EADDRNOTAVAIL' : code] ?? other, { cause })
}
