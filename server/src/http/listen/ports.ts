/** Where the server listens: on ports, or on sockets that systemd passes; and how it stops. */
import { once } from 'node:events'
import { fstatSync } from 'node:fs'
import type { Server } from 'node:http'
import net from 'node:net'

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

/** File descriptors of sockets that another program has opened and keeps open during a restart. */
export interface InheritedSockets {
  /** Replaces HOST and PORT. */
  http: number | undefined
  /** Replaces ADMIN_HOST and ADMIN_PORT. */
  admin: number | undefined
}

/** The first descriptor that systemd passes. */
const FIRST_DESCRIPTOR = 3
/** How many connections may wait on an inherited socket until a process accepts them; the kernel may allow fewer. */
const BACKLOG = 4_096
/** The ports of other protocols, to which browsers send nothing (https://fetch.spec.whatwg.org/#port-blocking). */
const BAD_PORTS = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])
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
  await once(server.close(), 'close')
}

/**
 * Listens; resolves with the URL.
 *
 * @param prefix that of the settings that name the port
 * @throws StartError
 */
export async function listen(server: net.Server, { host, port, descriptor }: Port, prefix = ''): Promise<string> {
  const options = descriptor === undefined ? { port, host } : { fd: descriptor, backlog: BACKLOG }
  try {
    await once(server.listen(options), 'listening')
  } catch (error) {
    throw descriptor === undefined ? portError(error, prefix, host, port) : notListenable((error as Error).message)
  }
  const address = server.address()
  if (typeof address !== 'object' || !address?.port) throw notListenable('it is not a TCP socket')
  const name = descriptor === undefined ? host : address.address
  return `http://${name.includes(':') ? `[${name}]` : name}:${address.port}`
}

/**
 * Lets a client end its side of a connection after its requests, as `nc -N` and some proxies do: it gets its responses, and
 * then the connection ends. By default, Node.js ends it before a response that takes more than a turn of the event loop.
 */
export function respondToHalfClosed(server: Server): void {
  // Neither the documentation of Node.js nor its types have this property.
  Object.assign(server, { httpAllowHalfOpen: true })
}

/** Returns a warning about a port that browsers and `fetch`, and so the SDK, do not connect to. */
export function findBadPort(port: number): string | undefined {
  if (!BAD_PORTS.has(port)) return undefined
  const effect = `PORT ${port} is a "bad port" of browsers and fetch: they, and the SDK, do not connect to it`
  return `${effect}. Set another PORT, unless a proxy is in front of the server.`
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

/**
 * Takes the sockets that systemd passes to a process (`LISTEN_FDS`, see sd_listen_fds(3)): the one named `admin` is the
 * private port, the other one the public port. The variables are a protocol rather than settings, and are removed, since
 * they are not meant for child processes.
 *
 * @returns undefined if none are passed to the process with this id
 * @throws StartError if the variables are inconsistent
 */
export function takeInheritedSockets(environment: NodeJS.ProcessEnv, processId: number): InheritedSockets | undefined {
  const { LISTEN_PID: owner = '', LISTEN_FDS: count = '', LISTEN_FDNAMES: names } = environment
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES', 'LISTEN_PIDFDID']) delete environment[name]
  if (count === '' || count === '0') return undefined
  if (!/^[1-9]\d*$/.test(owner)) throw socketError('LISTEN_PID must be the id of a process')
  if (Number(owner) !== processId) return undefined
  if (count !== '1' && count !== '2') throw socketError('LISTEN_FDS must be 1 or 2')

  const roles = names?.split(':') ?? Array<string>(Number(count)).fill('http')
  if (roles.length !== Number(count)) throw socketError('LISTEN_FDNAMES must have as many names as LISTEN_FDS')
  const sockets: InheritedSockets = { http: undefined, admin: undefined }
  for (const [index, name] of roles.entries()) {
    const role = name === 'admin' ? 'admin' : 'http'
    if (sockets[role] !== undefined) throw socketError('LISTEN_FDNAMES must name one of two sockets admin')
    sockets[role] = FIRST_DESCRIPTOR + index
  }
  const other = Object.values(sockets).find((descriptor) => descriptor !== undefined && !isSocket(descriptor))
  if (other !== undefined) throw socketError(`LISTEN_FDS is ${count}, but descriptor ${other} is not a socket`)
  return sockets
}

function isSocket(descriptor: number): boolean {
  try {
    // With numbers instead of bigints, Node.js may not resolve the symbolic links of packages that are imported later: its
    // realpathSync looks at the type of the file whose status was read last.
    return fstatSync(descriptor, { bigint: true }).isSocket()
  } catch {
    return false
  }
}

/** An error in the sockets that systemd passes. */
function socketError(mistake: string): StartError {
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
