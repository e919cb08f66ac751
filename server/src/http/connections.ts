import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { requestRejected } from '../telemetry/events.ts'
import { addressKey } from './client-address.ts'
import { createFairShare } from './fair-share.ts'

/** How many files and sockets are kept for the private port, the database and the log. */
const RESERVED = 256
/** A limit that is lowered to less than this part of it is logged. */
const NOTABLE = 0.95
/** So many chunks of a body are read before other connections have their turn, and what came with them. */
const CHUNKS_PER_TURN = 256

/**
 * Returns how many connections clients may have: `MAX_CONNECTIONS`, or what the limit of open files leaves. Beyond that limit
 * every new connection would be reset, those of probes too, and the database could not be opened again.
 */
export function limitConnections(maxConnections: number, logger: Logger): number {
  // Without this, a report looks up the names of addresses.
  Object.assign(process.report, { excludeNetwork: true })
  // Node.js has raised it to the hard limit. Windows has none.
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files: { soft: number | 'unlimited' } } }
  const nofile = Number(userLimits?.open_files.soft)
  const left = Math.max(Math.floor(nofile / 2), nofile - RESERVED)
  if (!(left < maxConnections)) return maxConnections
  // A few less are not worth a line at every startup.
  if (left >= NOTABLE * maxConnections) return left
  const advice = 'Raise it (LimitNOFILE of systemd, ulimits of Docker, ulimit -n), or lower MAX_CONNECTIONS'
  const change = `MAX_CONNECTIONS is lowered from ${maxConnections} to ${left}`
  logger.warn(`${change}, since the limit of open files (nofile) is ${nofile}. ${advice}.`)
  return left
}

/**
 * Limits the connections of clients, of which one address cannot take all.
 *
 * @returns a function that returns how many are open
 */
export function shareConnections(server: Server, maxConnections: number): () => number {
  const share = createFairShare(maxConnections)
  server.maxConnections = maxConnections
  server.on('drop', () => requestRejected.publish('connections'))
  server.on('connection', (socket: Socket) => {
    const address = addressKey(socket.remoteAddress)
    if (!share.hasRoom(address)) {
      requestRejected.publish('connections')
      socket.destroy()
      return
    }
    share.take(address)
    socket.once('close', () => share.release(address))
  })
  return share.used
}

/**
 * Lets a body in many chunks give other connections their turn, also a body that nothing uses: Node.js reads up to 2 MB of a
 * connection in a turn of the event loop, which takes a second where each chunk has one byte. These are methods of such a
 * request only, since in its class they slow every request down.
 */
export function readInTurns(request: IncomingMessage): void {
  const push = request.push.bind(request)
  const read = request._read.bind(request)
  let chunks = 0
  let waits = false
  request.push = (chunk, encoding) => {
    const more = push(chunk, encoding)
    if (++chunks % CHUNKS_PER_TURN !== 0) return more
    waits = true
    request.socket.pause()
    setImmediate(() => {
      waits = false
      request.socket.resume()
    })
    return false
  }
  // Node.js calls it where more may be read, which would resume the connection.
  request._read = (size) => {
    if (!waits) read(size)
  }
}
