import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Request } from 'express'
import { HttpError } from '../../http-error.ts'
import { CLIENT_CLOSED_REQUEST, requestUnparsed } from '../../telemetry/events.ts'
import { closeLater, replaceStatus } from '../response/error-responses.ts'
import { COMMON_HEADERS, JSON_CONTENT_TYPE } from '../response/send-json.ts'

/** Without a listener for `clientError`, Node.js also decides by the response that is being sent. */
type HttpSocket = Duplex & { _httpMessage?: ServerResponse | null }

/** After its first failure the parser fails with everything that follows, which needs no second response. */
const rejectedSockets = new WeakSet<Duplex>()

/** Responds with an `Error` body to what is not an HTTP request, or arrives too late, and closes the connection. */
export function rejectUnparsed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET') socket.destroy()
  // A client that ends its side in the middle of a request has usually disconnected.
  else if (error.code === 'HPE_INVALID_EOF_STATE') reject(socket, toHttpError(error.code), CLIENT_CLOSED_REQUEST)
  else reject(socket, toHttpError(error.code))
}

/** Responds to CONNECT, for which Node.js would otherwise just close the connection. */
export function rejectTunnel(socket: Duplex): void {
  // Node.js has removed its listeners from the connection, so a response that is being sent would never end.
  if ((socket as HttpSocket)._httpMessage) {
    socket.destroy()
    return
  }
  socket.on('error', () => socket.destroy()).resume()
  reject(socket, new HttpError('badRequest', 'CONNECT is not supported: this is not a proxy. Use another method.'))
}

function reject(socket: Duplex, failure: HttpError, reportedStatus: number = failure.status): void {
  if (rejectedSockets.has(socket)) return
  rejectedSockets.add(socket)
  afterEarlierResponses(socket, () => {
    // After a response with `Connection: close`, the socket is closing already.
    if (socket.writable) socket.end(toHttp(failure, report(socket, reportedStatus)), () => closeLater(socket))
  })
}

/** Reports that a request has ended, and returns its id. A request that the app has begun to handle is reported by the app. */
function report(socket: Duplex, status: number): string {
  const incomplete = (socket as HttpSocket)._httpMessage
  const known = (incomplete?.req as Request | undefined)?.requestId
  // The app gives requests their ids, and has not seen those that wait behind another.
  if (incomplete && known) {
    replaceStatus(incomplete, status)
    return known
  }
  const requestId = randomUUID()
  requestUnparsed.publish({ requestId, status, address: (socket as Socket).remoteAddress })
  return requestId
}

/**
 * Waits for the responses to earlier complete requests on the connection, since responses have the order of the requests
 * (RFC 9112 section 9.3.2). An incomplete request gets no other response than this.
 */
function afterEarlierResponses(socket: Duplex, proceed: () => void): void {
  const earlier = (socket as HttpSocket)._httpMessage
  if (earlier?.req.complete) earlier.once('finish', () => afterEarlierResponses(socket, proceed))
  else if (earlier?.headersSent) socket.destroy()
  else proceed()
}

function toHttp({ status, body }: HttpError, requestId: string): string {
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
  return `${lines.join('\r\n')}\r\n\r\n${text}`
}

function toHttpError(code: string | undefined): HttpError {
  if (code === 'HPE_HEADER_OVERFLOW') return new HttpError('headersTooLarge')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new HttpError('requestTimeout')
  return new HttpError('badRequest', 'The request is not well-formed HTTP/1.1.')
}
