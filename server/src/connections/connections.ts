/**
 * The connections of clients: how many there are, and how each of them ends.
 *
 * | what ends it | where | what follows |
 * |---|---|---|
 * | no place is left, or its address has its share | `trackConnections` | it is closed as soon as it is accepted |
 * | it is idle, or a shutdown finds it so | Node.js, `ports.ts` | it is closed |
 * | a shutdown takes too long | `ports.ts` | it is closed |
 * | its client reads no response | `waiting-requests.ts` | it is closed after 40 s |
 * | a request on it gives way to another | `places.ts` | it is closed |
 * | what is pipelined on it finds no place | `places.ts` | it is closed: its response would wait in memory |
 * | a shutdown, an upgrade, a response that says so | `endAfter` | nothing behind the request is handled |
 * | a response begins before its request has arrived | `settle` | the same, unless the rest is small; it lingers |
 * | its bytes are not HTTP, or late | `public-port.ts` | an `Error` body, after earlier responses |
 * | a response fails midway | `requests/errors.ts` | it is closed, so that the response is not taken for whole |
 * | its client ends its side | Node.js, `httpAllowHalfOpen` | whole requests get their responses first |
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { events } from '../telemetry/events.ts'
import { addressKey, createPlaces } from './places.ts'

/** The connections of a server, from the moment it accepts them until they are closed. */
export interface Connections {
  /** Returns how many are open. */
  count(): number
  /** Returns whether to handle a request: what follows the last one of a connection is discarded. */
  admit(request: IncomingMessage, response: ServerResponse): boolean
  /** Makes the response to each request that arrives the last one of its connection. */
  drain(): void
}

/** How long a client may keep sending, or keep its side of a connection open, in milliseconds. */
const LINGERING = 1_000
/** How much of a body may be read and discarded, in bytes: up to this it is cheaper than a new connection. */
const SMALL_BODY = 64 * 1024

/** Connections with a response that is decided to be their last. */
const ended = new WeakSet<Socket>()
/** Connections of which nothing more is parsed. */
export const discarded = new WeakSet<Duplex>()

/** Limits the connections of a server, of which one address cannot take all. */
export function trackConnections(server: Server, maxConnections: number): Connections {
  const places = createPlaces(maxConnections)
  let draining = false
  server.on('connection', (socket: Socket) => {
    const address = addressKey(socket.remoteAddress)
    if (!places.hasRoom(address)) {
      events.emit('requestRejected', 'connections')
      socket.destroy()
      return
    }
    places.take(address)
    socket.once('close', () => places.release(address))
  })

  return {
    count: places.taken,
    admit(request, response) {
      const { socket, headers } = request
      // The parser reads on in what has arrived, also once the connection is destroyed.
      if (socket.destroyed || ended.has(socket)) {
        discardRest(socket)
        return false
      }
      // An upgrade is ignored. Node.js loses what follows in the same packet, and reads what comes next from its middle.
      const isUpgrade = headers.upgrade !== undefined
      if (draining || isUpgrade) endAfter(response)
      if (isUpgrade) {
        closeLingering(request)
        // Its parser reports no failure of the body, such as that it ends early.
        const error = new Error('The body is incomplete.')
        socket.once('end', () => request.complete || server.emit('clientError', error, socket))
      }
      // Until somebody reads the body: Node.js would parse a million chunks meanwhile.
      if (headers['transfer-encoding'] !== undefined) socket.pause()
      return true
    },
    drain() {
      draining = true
    },
  }
}

/** Makes a response the last one of its connection. What follows its request would get none, so it is not handled. */
function endAfter(response: ServerResponse): void {
  response.setHeader('Connection', 'close')
  ended.add(response.req.socket)
}

/**
 * Settles how a connection goes on, as a response begins. Where the rest of the request is small, Node.js reads and
 * discards it: a client that was shed then retries on its open connection, since a busy server accepts new ones slowly,
 * one per turn of its event loop (libuv since 1.45).
 */
export function settle(response: ServerResponse): void {
  const { req: request } = response
  if (response.getHeader('Connection') !== 'close' && endsSoon(request)) return
  endAfter(response)
  if (!request.complete) closeLingering(request)
}

/** Whether the rest of a request is small. */
function endsSoon({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true
  // The size of chunks is unknown, and a client that waits for "100 Continue" may send the body or not.
  if (headers['transfer-encoding'] !== undefined || headers.expect !== undefined) return false
  // A request without a body is complete only a moment after it has been handed over.
  return Number(headers['content-length'] ?? 0) <= SMALL_BODY
}

/**
 * Closes the connection of a request so that its client can read the response (RFC 9112 section 9.6). If a connection
 * is closed while a client is sending, the client's system discards the response, so this side only ends its half,
 * discards what still arrives for a moment, and then closes. Node.js calls `destroySoon` once the last response is
 * written.
 */
function closeLingering({ socket }: IncomingMessage): void {
  socket.destroySoon = () => {
    closeLater(socket)
    socket.once('end', () => socket.destroy()).end()
    discardRest(socket)
  }
}

/** Closes a connection that this side has ended, or ends now, unless the client does soon. */
export function closeLater(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGERING).unref()
  socket.once('close', () => clearTimeout(timer))
}

/** Discards what a connection still gets, without parsing it. Its end may fail the parser, which needs no response. */
export function discardRest(socket: Duplex): void {
  discarded.add(socket)
  // A listener takes the connection from the parser, which is a listener itself then.
  socket
    .on('data', () => {})
    .removeAllListeners('data')
    .resume()
}
