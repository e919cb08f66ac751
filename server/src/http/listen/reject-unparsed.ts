import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { HttpError } from '../../http-error.ts'
import { requestUnparsed } from '../../telemetry/events.ts'
import { closeLater, sendError } from '../response/error-responses.ts'
import { COMMON_HEADERS, JSON_CONTENT_TYPE } from '../response/send-json.ts'

/** Without a listener for `clientError`, Node.js also decides by the response that has the connection. */
type HttpSocket = Duplex & { _httpMessage?: ServerResponse | null }

/** After its first failure the parser fails with everything that follows, which needs no second response. */
const rejectedSockets = new WeakSet<Duplex>()

/** Responds with an `Error` body to what is not an HTTP request, or arrives too late, and closes the connection. */
export function rejectUnparsed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET') socket.destroy()
  if (socket.destroyed || rejectedSockets.has(socket)) return
  rejectedSockets.add(socket)
  reject(socket, toHttpError(error.code))
}

/** Responds to CONNECT, for which Node.js would otherwise just close the connection. */
export function rejectTunnel(socket: Duplex): void {
  // Node.js has removed its listeners from the connection, so a response that is being sent would never end.
  if ((socket as HttpSocket)._httpMessage) {
    socket.destroy()
    return
  }
  socket.on('error', () => socket.destroy()).resume()
  sendRaw(socket, new HttpError('badRequest', 'CONNECT is not supported: this is not a proxy. Use another method.'))
}

/** Responds after the earlier complete requests of a connection: responses have their order (RFC 9112 section 9.3.2). */
function reject(socket: Duplex, failure: HttpError): void {
  const response = (socket as HttpSocket)._httpMessage
  if (!response) sendRaw(socket, failure)
  else if (response.req.complete) response.once('finish', () => reject(socket, failure))
  else if (response.headersSent) socket.destroy()
  // The rest of the request will not arrive.
  else sendError(response.setHeader('Connection', 'close'), failure)
}

/** Responds without a response of Node.js, since there is no request. */
function sendRaw(socket: Duplex, { status, body }: HttpError): void {
  // After a response with `Connection: close`, the socket is closing already.
  if (!socket.writable) return
  const requestId = randomUUID()
  requestUnparsed.publish({ requestId, status, address: (socket as Socket).remoteAddress })
  const text = JSON.stringify(body)
  const head = [
    ['Date', new Date().toUTCString()],
    ['X-Request-Id', requestId],
    ...COMMON_HEADERS,
    ['Content-Type', JSON_CONTENT_TYPE],
    ['Content-Length', Buffer.byteLength(text)],
    ['Connection', 'close'],
  ]
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...head.map((header) => header.join(': '))]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`, () => closeLater(socket))
}

function toHttpError(code: string | undefined): HttpError {
  if (code === 'HPE_HEADER_OVERFLOW') return new HttpError('headersTooLarge')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new HttpError('requestTimeout')
  return new HttpError('badRequest', 'The request is not well-formed HTTP/1.1.')
}
