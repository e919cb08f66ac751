import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How many requests may wait on one connection behind the one that is being handled. */
export const MAX_PIPELINED = 100
/** How many requests may wait on all connections together: each costs up to 10 kB. */
const MAX_WAITING = 4_000

/** The requests of one connection that wait. */
interface Line {
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
 * to expect (RFC 9112, section 9.3.2). While too many wait on all connections together, one that adds to them is closed
 * immediately.
 */
export function createPipelining(handle: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Line>()
  let waiting = 0

  /** Lets a request wait; undefined: it does not. */
  function join(socket: Socket, response: ServerResponse): Line | undefined {
    let line = lines.get(socket)
    if (!line) {
      const created = { waiting: 0, last: response, full: false }
      line = created
      lines.set(socket, line)
      socket.once('close', () => {
        waiting -= created.waiting
      })
    }
    if (waiting >= MAX_WAITING) {
      socket.destroy()
      return undefined
    }
    // Those that will not be handled are counted too: they take memory until their connection closes.
    line.waiting++
    waiting++
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
      process.nextTick(() => {
        if (!line || response.destroyed) return
        line.waiting--
        waiting--
        // Node.js ends its side of a connection too once the client has ended its own.
        if (!response.socket?.writable) return
        if (line.full && line.last === response) response.setHeader('Connection', 'close')
        handle(request, response)
      })
    })
  }
}
