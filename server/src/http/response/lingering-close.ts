import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/** How long a caller may go on sending what nobody reads, or leave its side of a connection open, in milliseconds. */
const LINGERING = 1_000

/** Closes a connection that this side has ended, unless the caller does within a moment. */
export function cutLater(socket: Duplex): void {
  const cut = setTimeout(() => socket.destroy(), LINGERING).unref()
  socket.once('close', () => clearTimeout(cut))
}

/**
 * Lets the connection of a request end in peace (RFC 9112 section 9.6). Closing it while the caller still sends makes
 * its system throw away the answer along with the connection, so this side only says that it has ended, discards what
 * still comes for a moment, and then closes. Node.js closes by `destroySoon`, once the last answer is written.
 */
export function closeLingering(request: IncomingMessage): void {
  const { socket } = request
  socket.destroySoon = () => {
    cutLater(socket)
    socket.once('end', () => socket.destroy()).end()
    request.resume()
  }
}
