import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from '../../limits/address-key.ts'
import { createFairShare } from '../../limits/fair-share.ts'

/** How many requests may wait on one connection behind the one that is being handled. */
export const MAX_PIPELINED = 100
/** How many requests may wait on all connections together: each costs up to 10 kB. */
const MAX_WAITING = 4_000
/** Beyond this many, a connection is closed immediately. */
const MAX_LEFT_OUT = 1_000

/** The requests of one connection that wait. */
interface Line {
  address: string
  waiting: number
  /** The response to the last of them that will be handled. */
  last: ServerResponse
  /** More came than may wait: `last` is the last one of the connection. */
  full: boolean
}

/**
 * Hands over the requests of a connection one after the other, each once the response before it has been sent.
 *
 * Node.js hands over pipelined requests all at the same time. They would be handled, and their responses kept in memory,
 * for a client that takes one after the other; and on Node.js 20 and 22 a response that waits behind another never emits
 * `close`, so that what was counted for it would never be released. Here a request that waits has cost nothing yet, and
 * where its connection closes it never begins.
 *
 * A connection on which more than {@link MAX_PIPELINED} requests wait is closed after their responses, which a client has
 * to expect (RFC 9112, section 9.3.2). While too many wait on all connections together, or on those of an address, one that
 * adds to them is closed immediately.
 */
export function createPipelining(handle: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Line>()
  const share = createFairShare(MAX_WAITING)

  function open(socket: Socket, response: ServerResponse): Line {
    const line = { address: addressKey(socket.remoteAddress ?? ''), waiting: 0, last: response, full: false }
    lines.set(socket, line)
    socket.once('close', () => share.release(line.address, line.waiting))
    return line
  }

  /** Lets a request wait; undefined: it does not. */
  function join(socket: Socket, response: ServerResponse): Line | undefined {
    const line = lines.get(socket) ?? open(socket, response)
    if (!share.hasRoom(line.address, 1) || line.waiting > MAX_LEFT_OUT) {
      socket.destroy()
      return undefined
    }
    // Those that will not be handled are counted too: they take memory until their connection closes.
    line.waiting++
    share.take(line.address, 1)
    line.full ||= line.waiting > MAX_PIPELINED
    if (line.full) return undefined
    line.last = response
    return line
  }

  return (request, response) => {
    // Node.js gives a response its socket when it is its turn.
    if (response.socket) {
      handle(request, response)
      return
    }
    const line = join(request.socket, response)
    response.once('socket', () => {
      // One request of a connection in each turn of the event loop, so that others get theirs.
      setImmediate(() => {
        if (!line || response.destroyed) return
        line.waiting--
        share.release(line.address, 1)
        // Node.js ends its side of a connection too once the client has ended its own.
        if (!response.socket?.writable) return
        if (line.full && line.last === response) response.setHeader('Connection', 'close')
        handle(request, response)
      })
    })
  }
}
