import type { IncomingMessage } from 'node:http'

/** How long a caller may go on sending what nobody reads, in milliseconds. */
const LINGERING = 1_000

/**
 * Lets the connection of a request end in peace (RFC 9112 section 9.6). Closing it while the caller still sends makes
 * its system throw away the answer along with the connection, so this side only says that it has ended, discards what
 * still comes for a moment, and then closes. Node.js closes by `destroySoon`, once the last answer is written.
 */
export function closeLingering(request: IncomingMessage): void {
  const { socket } = request
  socket.destroySoon = () => {
    const cut = setTimeout(() => socket.destroy(), LINGERING)
    socket
      .once('close', () => clearTimeout(cut))
      .once('end', () => socket.destroy())
      .end()
    request.resume()
  }
}
