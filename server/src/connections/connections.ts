/** The connections of clients: how many there are, what ends with each, and how each of them ends. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { events } from '../telemetry/events.ts'
import { addressKey, createPlaces } from './places.ts'

/** The connections of a server, from the moment it accepts them until they are closed, whatever happens in between. */
export interface Connections {
  /** Returns how many are open. */
  count(): number
  /** Returns how many there have been. */
  accepted(): number
  /**
   * Notes a request and its response, which emits `close` once its connection has closed.
   *
   * @returns whether to handle it: what follows the last request of a connection is discarded
   */
  admit(request: IncomingMessage, response: ServerResponse): boolean
  /**
   * Begins a response, once its turn has come.
   *
   * @returns whether to handle its request: none follows the last one of a connection, or one that is sent already
   */
  begin(response: ServerResponse): boolean
  /** Makes every response the last one of its connection. */
  drain(): void
  /** Closes all of them, without waiting for anything. */
  destroyAll(): void
}

/** How many files and sockets are kept for the listeners, the admin port, the database and the log. */
const RESERVED = 256
/** A limit that is lowered to less than this part of it is logged. */
const NOTABLE = 0.95
/** How long a client may keep sending, or keep its side of a connection open, in milliseconds. */
const LINGERING = 1_000

/** Connections with a response that is decided to be their last. */
const ended = new WeakSet<Socket>()
/** Connections with a request for another protocol, their last one. */
const upgrading = new WeakSet<Socket>()
/** Connections of which nothing more is parsed. */
export const discarded = new WeakSet<Duplex>()

/**
 * Returns how many connections clients may have: `MAX_CONNECTIONS`, or what the limit of open files leaves. Beyond that
 * limit every new connection would be reset, those of probes too, and the database could not be opened again.
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
 * Limits the connections of a server, of which one address cannot take all, and ends with each
 * of them what belongs to it.
 */
export function trackConnections(server: Server, maxConnections: number): Connections {
  const places = createPlaces(maxConnections)
  /** Each with its responses that wait for an earlier one. */
  const open = new Map<Socket, Set<ServerResponse>>()
  let draining = false
  let accepted = 0
  server.on('connection', (socket: Socket) => {
    accepted++
    const address = addressKey(socket.remoteAddress)
    if (!places.hasRoom(address)) {
      events.emit('requestRejected', 'connections')
      socket.destroy()
      return
    }
    places.take(address)
    const waiting = new Set<ServerResponse>()
    open.set(socket, waiting)
    socket.once('close', () => {
      places.release(address)
      open.delete(socket)
      for (const response of waiting) response.destroy()
    })
  })

  return {
    count: () => open.size,
    accepted: () => accepted,
    admit(request, response) {
      const { socket } = request
      // The parser reads on in what has arrived, also once the connection is destroyed.
      if (socket.destroyed || ended.has(socket) || upgrading.has(socket)) {
        discardRest(socket)
        return false
      }
      // Node.js closes the response that has the connection, and after CONNECT no other.
      const waiting = response.socket ? undefined : open.get(socket)
      if (waiting) {
        waiting.add(response)
        response.once('close', () => waiting.delete(response))
      }
      // It does not get it: Node.js loses what follows in the same packet, and reads what comes next from its middle.
      if (request.headers.upgrade !== undefined) {
        upgrading.add(socket)
        closeLingering(request)
      }
      return true
    },
    begin(response) {
      const { socket, headers } = response.req
      if (response.closed || response.headersSent || ended.has(socket)) return false
      if (draining || headers.upgrade !== undefined) endAfter(response)
      return true
    },
    drain() {
      draining = true
    },
    destroyAll() {
      for (const socket of open.keys()) socket.destroy()
    },
  }
}

/** Closes a connection that this side has ended, or ends now, unless the client does soon. */
export function closeLater(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGERING).unref()
  socket.once('close', () => clearTimeout(timer))
}

/**
 * Closes the connection of a request so that its client can read the response (RFC 9112 section 9.6). If a connection
 * is closed while a client is sending, the client's system discards the response, so this side only ends its half,
 * discards what still arrives for a moment, and then closes. Node.js calls `destroySoon` once the last response is
 * written.
 */
export function closeLingering(request: IncomingMessage): void {
  const { socket } = request
  socket.destroySoon = () => {
    closeLater(socket)
    socket.once('end', () => socket.destroy()).end()
    request.resume()
  }
}

/** Makes a response the last one of its connection. What follows its request would get none, so it is not handled. */
export function endAfter(response: ServerResponse): void {
  response.setHeader('Connection', 'close')
  ended.add(response.req.socket)
}

/** Discards what a connection still gets, without parsing it. Its end may fail the parser, which needs no response. */
export function discardRest(socket: Duplex): void {
  discarded.add(socket)
  // A listener takes the connection from the parser, which is a listener itself then.
  socket.on('data', () => {}).removeAllListeners('data')
}
