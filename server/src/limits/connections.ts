import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import type { Settings } from '../settings/settings.ts'
import { requestRejected } from '../telemetry/events.ts'
import { addressKey } from './client-address.ts'
import { createFairShare } from './fair-share.ts'

/** The open connections of clients. */
export interface Connections {
  /** Adds a connection, or closes it if its address has its share of them. */
  add(socket: Socket): void
  /** Takes a request of a connection, and handles it once the response before it has been sent. */
  receive: RequestListener
  /** How many are open. */
  count(): number
}

/** How many requests may wait on one connection behind the one being handled. */
export const MAX_PIPELINED = 100
/** How many requests may wait on all connections together: each takes up to 10 kB. */
const MAX_WAITING = 4_000
/** With more waiting requests than this, including those that will not be handled, a connection is closed immediately. */
const MAX_QUEUED = 1_000
/** How often unread responses are checked, in milliseconds. */
const INTERVAL = 500
const MEBIBYTE = 2 ** 20
/** So many chunks of a body are read in a turn of the event loop, and what came with them. */
const CHUNKS_PER_TURN = 256

/** How many files and sockets are kept for the private port, the database, a restart of its process, and the log. */
const RESERVED = 128
/** A limit that is lowered to less than this part of it is logged. */
const NOTABLE = 0.95

/**
 * Returns how many connections clients may have: `MAX_CONNECTIONS`, or what the limit of open files leaves. Beyond that limit
 * every new connection would be reset, those of probes too, and the database could not be opened again.
 *
 * @param poolSize how many connections to the database may be open
 */
export function limitConnections(maxConnections: number, poolSize: number, logger: Logger): number {
  // Otherwise a report looks up the names of addresses.
  Object.assign(process.report, { excludeNetwork: true })
  // Node.js has raised it to the hard limit. Windows has none.
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files: { soft: number | 'unlimited' } } }
  const nofile = Number(userLimits?.open_files.soft)
  const left = Math.floor(Math.max(nofile / 2, nofile - RESERVED - poolSize))
  if (!(left < maxConnections)) return maxConnections
  // A few less are not worth a line at every startup.
  if (left < NOTABLE * maxConnections) {
    const advice = 'Raise it (LimitNOFILE of systemd, ulimits of Docker, ulimit -n), or lower MAX_CONNECTIONS'
    const change = `MAX_CONNECTIONS is lowered from ${maxConnections} to ${left}`
    logger.warn(`${change}, since the limit of open files (nofile) is ${nofile}. ${advice}.`)
  }
  return left
}

/** What is known of an open connection. */
interface Connection {
  address: string
  /** How many bytes it had sent before its response. */
  begin: number
  /** How long data has been waiting for the client, in milliseconds. */
  stalled: number
  /** How many of its requests wait behind the one being handled. */
  waiting: number
}

/**
 * Lets a body in many chunks give other connections their turn, also one that is not used: Node.js reads up to 2 MB of a
 * connection in a turn of the event loop, which takes a second where each chunk has one byte. These are methods of such a
 * request only, since in its class they slow every request down.
 */
function readInTurns(request: IncomingMessage): void {
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

/**
 * Limits what connections may take.
 *
 * - One address cannot take all of them.
 * - A client that reads too slowly is disconnected: each response may wait for its client for `stallTimeout`, and as long
 *   again per MiB. The timeout of a socket restarts with every byte, so that a client could keep a response for hours by
 *   reading a few bytes now and then, and fires while a client waits for the server. Only the time in which data waits for
 *   the client counts.
 * - Pipelined requests are handled one after the other. Node.js hands over all of them at the same time, so that one client
 *   would have many handled, and their responses kept in memory. A request that waits has cost nothing yet, and if its
 *   connection closes, it is never handled. With {@link MAX_PIPELINED} of them, a connection is closed after their
 *   responses, which clients have to expect (RFC 9112 section 9.3.2). One that adds to too many, of its address or of all,
 *   is closed immediately.
 */
export function createConnections(
  { maxConnections, stallTimeout }: Pick<Settings, 'maxConnections' | 'stallTimeout'>,
  handle: RequestListener,
): Connections {
  const share = createFairShare(maxConnections)
  const pipelined = createFairShare(MAX_WAITING)
  const open = new Map<Socket, Connection>()
  let timer: NodeJS.Timeout | undefined

  function closeStalled(): void {
    for (const [socket, connection] of open) {
      if (socket.writableLength === 0) continue
      connection.stalled += INTERVAL
      const size = socket.bytesWritten - connection.begin
      if (connection.stalled > stallTimeout * (1 + size / MEBIBYTE)) socket.destroy()
    }
  }

  function remove(socket: Socket, { address, waiting }: Connection): void {
    share.release(address, 1)
    pipelined.release(address, waiting)
    open.delete(socket)
    if (open.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  const begin: RequestListener = (request, response) => {
    const connection = open.get(request.socket)
    if (connection) {
      connection.begin = request.socket.bytesWritten
      connection.stalled = 0
    }
    handle(request, response)
  }

  /** Lets a request wait until Node.js gives its response the socket, which is when it is its turn. */
  function enqueue(request: IncomingMessage, response: ServerResponse, connection: Connection): void {
    const { address } = connection
    if (connection.waiting > MAX_QUEUED || !pipelined.hasRoom(address, 1)) {
      request.socket.destroy()
      return
    }
    connection.waiting++
    pipelined.take(address, 1)
    // Node.js closes the connection after it, so those behind it never get the socket.
    if (connection.waiting === MAX_PIPELINED) response.setHeader('Connection', 'close')
    response.once('socket', () => {
      // One request per connection and turn of the event loop, so that other connections get theirs.
      setImmediate(() => {
        if (response.destroyed) return
        connection.waiting--
        pipelined.release(address, 1)
        // Once the client has ended its side of a connection, Node.js ends the other.
        if (response.socket?.writable) begin(request, response)
      })
    })
  }

  return {
    add(socket) {
      const address = addressKey(socket.remoteAddress)
      if (!share.hasRoom(address, 1)) {
        requestRejected.publish('connections')
        socket.destroy()
        return
      }
      const connection = { address, begin: 0, stalled: 0, waiting: 0 }
      share.take(address, 1)
      open.set(socket, connection)
      timer ??= setInterval(closeStalled, INTERVAL).unref()
      socket.once('close', () => remove(socket, connection))
    },

    receive(request, response) {
      if (request.headers['transfer-encoding'] !== undefined) readInTurns(request)
      if (response.socket) return begin(request, response)
      const connection = open.get(request.socket)
      if (connection) enqueue(request, response, connection)
    },

    count: share.used,
  }
}
