import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { Failure } from '../../failure.ts'
import { COMMON_HEADERS } from '../response/common-headers.ts'
import { cutLater } from '../response/lingering-close.ts'
import { JSON_CONTENT_TYPE } from '../response/send-json.ts'

/** Node.js itself decides by the response that is being sent, too, where nobody listens to `clientError`. */
type HttpSocket = Duplex & { _httpMessage?: ServerResponse | null }

/** The parser fails again with whatever comes after its first failure; that needs no second answer. */
const refused = new WeakSet<Duplex>()

/** Answers bytes that are no request, or no request in time, with an `Error` body, and closes the connection. */
export function refuseUnparsed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET') socket.destroy()
  else refuse(socket, toFailure(error.code))
}

/** Answers what asks for a tunnel. Node.js hands it over with the bare connection, and would otherwise just hang up. */
export function refuseTunnel(socket: Duplex): void {
  // Node.js has taken its own listeners off the connection: a response that is still being sent would never end.
  if ((socket as HttpSocket)._httpMessage) {
    socket.destroy()
    return
  }
  socket.on('error', () => socket.destroy()).resume()
  refuse(socket, new Failure('badRequest', 'CONNECT asks for a tunnel, and this is no proxy. Send another method.'))
}

function refuse(socket: Duplex, failure: Failure): void {
  if (refused.has(socket)) return
  refused.add(socket)
  afterEarlierAnswers(socket, () => {
    // It is closing already, after an answer that said so.
    if (socket.writable) socket.end(toHttp(failure), () => cutLater(socket))
  })
}

/**
 * Waits for the answers to requests that came whole before on the same connection: a caller takes answers in the order
 * of its requests (RFC 9112 section 9.3.2). A request that did not come whole has no answer but this one.
 */
function afterEarlierAnswers(socket: Duplex, proceed: () => void): void {
  const earlier = (socket as HttpSocket)._httpMessage
  if (earlier?.req.complete) earlier.once('finish', () => afterEarlierAnswers(socket, proceed))
  else if (earlier?.headersSent) socket.destroy()
  else proceed()
}

function toHttp({ status, body }: Failure): string {
  const text = JSON.stringify(body)
  const head = [
    ['Date', new Date().toUTCString()],
    ['X-Request-Id', randomUUID()],
    ...COMMON_HEADERS,
    ['Content-Type', JSON_CONTENT_TYPE],
    ['Content-Length', Buffer.byteLength(text)],
    ['Connection', 'close'],
  ]
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...head.map((header) => header.join(': '))]
  return `${lines.join('\r\n')}\r\n\r\n${text}`
}

function toFailure(code: string | undefined): Failure {
  if (code === 'HPE_HEADER_OVERFLOW') return new Failure('headersTooLarge')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Failure('requestTimeout')
  return new Failure('badRequest', 'The request is not well-formed HTTP/1.1.')
}
