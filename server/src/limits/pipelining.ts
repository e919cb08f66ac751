import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from './client-address.ts'
import { createFairShare } from './fair-share.ts'

/** How many requests may wait on one connection behind the one being handled. */
export const MAX_PIPELINED = 100
/** How many requests may wait on all connections together: each takes up to 10 kB. */
const MAX_WAITING = 4_000
/** With more waiting requests than this, including those that will not be handled, a connection is closed immediately. */
const MAX_QUEUED = 1_000

/** The waiting requests of one connection. */
interface Queue {
  address: string
  waiting: number
  /** The response to the last of them that will be handled. */
  last: ServerResponse
  /** More came than may wait, so `last` is the last response of the connection. */
  full: boolean
}

/**
 * Handles the pipelined requests of a connection one after the other, each once the response before it has been sent.
 *
 * Node.js hands over all of them at the same time, so that one client would have many handled, and their responses kept
 * in memory. On Node.js 20 and 22, moreover, a response that waits behind another never emits `close`, so that what was
 * counted for it would never be released. Here a waiting request has cost nothing yet, and if its connection closes, it
 * is never handled.
 *
 * A connection with more than {@link MAX_PIPELINED} waiting requests is closed after their responses, which clients have
 * to expect (RFC 9112 section 9.3.2). One that adds to too many waiting requests, of its address or of all, is closed
 * immediately.
 */
export function createPipelining(handle: RequestListener): RequestListener {
  const queues = new WeakMap<Socket, Queue>()
  const share = createFairShare(MAX_WAITING)

  function open(socket: Socket, response: ServerResponse): Queue {
    const queue = { address: addressKey(socket.remoteAddress ?? ''), waiting: 0, last: response, full: false }
    queues.set(socket, queue)
    socket.once('close', () => share.release(queue.address, queue.waiting))
    return queue
  }

  /** Returns the queue that a request waits in; undefined: it will not be handled. */
  function join(socket: Socket, response: ServerResponse): Queue | undefined {
    const queue = queues.get(socket) ?? open(socket, response)
    if (!share.hasRoom(queue.address, 1) || queue.waiting > MAX_QUEUED) {
      socket.destroy()
      return undefined
    }
    // Also if it will not be handled: it takes memory until its connection closes.
    queue.waiting++
    share.take(queue.address, 1)
    queue.full ||= queue.waiting > MAX_PIPELINED
    if (queue.full) return undefined
    queue.last = response
    return queue
  }

  return (request, response) => {
    const queue = join(request.socket, response)
    response.once('socket', () => {
      // One request per connection and turn of the event loop, so that other connections get theirs.
      setImmediate(() => {
        if (!queue || response.destroyed) return
        queue.waiting--
        share.release(queue.address, 1)
        // Once the client has ended its side of a connection, Node.js ends the other.
        if (!response.socket?.writable) return
        if (queue.full && queue.last === response) response.setHeader('Connection', 'close')
        handle(request, response)
      })
    })
  }
}
