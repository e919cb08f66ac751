import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/** How long a client may keep sending, or keep its side of a connection open, in milliseconds. */
const LINGERING = 1_000

/** Closes a connection that this side has ended, unless the client does soon. */
export function closeLater(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGERING).unref()
  socket.once('close', () => clearTimeout(timer))
}

/**
 * Closes the connection of a request so that its client can read the response (RFC 9112 section 9.6). If a connection is
 * closed while a client is sending, the client's system discards the response, so this side only ends its half, discards
 * what still arrives for a moment, and then closes. Node.js calls `destroySoon` once the last response is written.
 */
export function closeLingering(request: IncomingMessage): void {
  const { socket } = request
  socket.destroySoon = () => {
    closeLater(socket)
    socket.once('end', () => socket.destroy()).end()
    request.resume()
  }
}
