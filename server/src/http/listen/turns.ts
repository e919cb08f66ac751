import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from '../../limits/client-address.ts'
import { createFairShare } from '../../limits/fair-share.ts'

/** How many requests may wait on one connection behind the one being handled. */
export const MAX_PIPELINED = 100
/** How many requests may wait on all connections together: each takes up to 10 kB. */
const MAX_WAITING = 4_000
/** With more waiting requests than this, including those that will not be handled, a connection is closed immediately. */
const MAX_QUEUED = 1_000
/** So many chunks of a body are read in a turn of the event loop, and what came with them. */
const CHUNKS_PER_TURN = 256

/**
 * Creates the listener with which connections take turns, whatever one of them sends at a time. The chunks of a body are
 * read a few in a turn, and pipelined requests are handled one after the other: Node.js hands over all of them together, so
 * that one client would have many handled, and their responses kept in memory.
 *
 * A request that waits has cost nothing yet, and if its connection closes, it is never handled. With {@link MAX_PIPELINED}
 * of them, a connection is closed after their responses, which clients have to expect (RFC 9112 section 9.3.2). One that adds
 * to too many, of its address or of all, is closed immediately.
 */
export function takeTurns(handle: RequestListener): RequestListener {
  const share = createFairShare(MAX_WAITING)
  /** How many requests of a connection wait behind the one being handled. */
  const queues = new WeakMap<Socket, { readonly address: string; waiting: number }>()

  function queueOf(socket: Socket) {
    const known = queues.get(socket)
    if (known) return known
    const queue = { address: addressKey(socket.remoteAddress), waiting: 0 }
    queues.set(socket, queue)
    socket.once('close', () => {
      for (; queue.waiting > 0; queue.waiting--) share.release(queue.address)
    })
    return queue
  }

  /** Lets a request wait until Node.js gives its response the socket, which is when it is its turn. */
  function enqueue(request: IncomingMessage, response: ServerResponse): void {
    const queue = queueOf(request.socket)
    if (queue.waiting > MAX_QUEUED || !share.hasRoom(queue.address)) {
      request.socket.destroy()
      return
    }
    queue.waiting++
    share.take(queue.address)
    // Node.js closes the connection after this response, so requests behind it never get the socket.
    if (queue.waiting === MAX_PIPELINED) response.setHeader('Connection', 'close')
    response.once('socket', () => {
      // One request per connection and turn of the event loop, so that other connections get theirs.
      setImmediate(() => {
        if (response.destroyed) return
        queue.waiting--
        share.release(queue.address)
        // A connection that has been ended on this side gets no more responses.
        if (response.socket?.writable) handle(request, response)
      })
    })
  }

  return (request, response) => {
    if (request.headers['transfer-encoding'] !== undefined) readInTurns(request)
    if (response.socket) handle(request, response)
    else if (!request.socket.destroyed) enqueue(request, response)
  }
}

/**
 * Lets a body in many chunks give other connections their turn, also a body that nothing uses: Node.js reads up to 2 MB of a
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
