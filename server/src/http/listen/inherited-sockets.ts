import { fstatSync } from 'node:fs'
import type { Server } from 'node:http'
import net from 'node:net'
import { StartError } from '../../start-error.ts'

/** File descriptors of sockets that another program has opened, and holds open over a restart. */
export interface InheritedSockets {
  /** Listened on instead of HOST and PORT. */
  http: number | undefined
  /** Listened on instead of ADMIN_HOST and ADMIN_PORT. */
  admin: number | undefined
}

type Environment = Record<string, string | undefined>

const FIRST_DESCRIPTOR = 3
/** How many connections wait while no process takes them, at most; the kernel may allow fewer. */
const BACKLOG = 4_096
const HINT = 'Start the server with a socket unit of systemd, or unset it to listen on HOST and PORT.'

/**
 * Takes the sockets that systemd passes to this process (`LISTEN_FDS`, see sd_listen_fds(3)): the one named `admin` is the
 * private port, the other one the public port. The variables are removed, since they are not meant for child processes.
 *
 * @returns undefined where none are passed to the process with this id
 * @throws StartError where the variables contradict themselves
 */
export function takeInheritedSockets(environment: Environment, processId: number): InheritedSockets | undefined {
  const { LISTEN_PID: owner = '', LISTEN_FDS: count = '', LISTEN_FDNAMES: names } = environment
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES', 'LISTEN_PIDFDID']) delete environment[name]
  if (count === '' || count === '0') return undefined
  if (!/^[1-9]\d*$/.test(owner)) throw new StartError(`LISTEN_PID must be the id of a process. ${HINT}`)
  if (Number(owner) !== processId) return undefined
  if (count !== '1' && count !== '2') throw new StartError(`LISTEN_FDS must be 1 or 2. ${HINT}`)

  const roles = names === undefined ? Array.from({ length: Number(count) }, () => 'http') : names.split(':')
  if (roles.length !== Number(count))
    throw new StartError(`LISTEN_FDNAMES must have as many names as LISTEN_FDS. ${HINT}`)
  const sockets: InheritedSockets = { http: undefined, admin: undefined }
  for (const [index, name] of roles.entries()) {
    const role = name === 'admin' ? 'admin' : 'http'
    if (sockets[role] !== undefined) throw new StartError(`LISTEN_FDNAMES must name one of two sockets admin. ${HINT}`)
    sockets[role] = FIRST_DESCRIPTOR + index
    if (!isSocket(FIRST_DESCRIPTOR + index)) {
      throw new StartError(
        `LISTEN_FDS is ${count}, but descriptor ${FIRST_DESCRIPTOR + index} is not a socket. ${HINT}`,
      )
    }
  }
  return sockets
}

/**
 * Listens on an inherited socket; resolves with its address.
 *
 * @throws StartError where it cannot be listened on, or is not a TCP socket
 */
export function listenOnInherited(server: Server, descriptor: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) =>
      reject(new StartError(`LISTEN_FDS passes a socket that the server cannot listen on: ${reason}. ${HINT}`))
    const failWith = (error: Error) => fail(error.message)
    server.once('error', failWith).listen({ fd: descriptor, backlog: BACKLOG }, () => {
      server.off('error', failWith)
      const address = server.address()
      if (typeof address !== 'object' || !address?.port) return fail('it is not a TCP socket')
      resolve(`http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`)
    })
  })
}

/**
 * Takes no more connections from an inherited socket: they wait in the kernel for the next process. Open connections stay
 * open, also idle ones. Resolves when all of them have closed.
 */
export function stopAccepting(server: Server): Promise<void> {
  // That of http.Server closes idle connections, on which a client may be sending a request.
  return new Promise((resolve) => net.Server.prototype.close.call(server, () => resolve()))
}

function isSocket(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isSocket()
  } catch {
    return false
  }
}
