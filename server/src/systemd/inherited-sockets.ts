import { fstatSync } from 'node:fs'
import { socketError } from '../http/listen/ports.ts'

/** File descriptors of sockets that another program has opened and keeps open during a restart. */
export interface InheritedSockets {
  /** Replaces HOST and PORT. */
  http: number | undefined
  /** Replaces ADMIN_HOST and ADMIN_PORT. */
  admin: number | undefined
}

const FIRST_DESCRIPTOR = 3

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
