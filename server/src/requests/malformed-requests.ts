/** Rejects what is malformed, arrives too late, or is meant for a proxy. */
import { randomUUID } from 'node:crypto'
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ErrorName } from '@plant-store/contract'
import { closeLater, discarded, discardRest } from '../connections/connections.ts'
import { HttpError, sendError } from './errors.ts'
import { COMMON_HEADERS } from './responses.ts'

/**
 * What a request may say only once: of a duplicate, Node.js uses the first one, or joins both, where HTTP defines no
 * list. Its parser rejects a second `Content-Length` itself.
 */
const SINGLE_HEADERS = new Set(['authorization', 'content-type', 'host', 'origin', 'x-request-id'])
const MAX_HEADERS = 1000

/**
 * Checks a request for what the parser of Node.js accepts: a duplicate or missing header (RFC 9112 section 3.2, RFC 6750
 * section 3.1), a transfer coding other than chunked or in HTTP/1.0 (RFC 9112 section 6.1), an expectation that cannot be
 * met, too many headers, and HTTP versions other than 1: with a 400, since a 505 would count as a failure of the server.
 *
 * @throws {HttpError}
 */
export function checkHead({ headers, rawHeaders, httpVersion, httpVersionMajor }: IncomingMessage): void {
  if (httpVersionMajor !== 1) throw malformed('badRequest', 'The HTTP version is not supported. Use HTTP/1.1.')
  if (rawHeaders.length > 2 * MAX_HEADERS) throw malformed('headersTooLarge')
  if (headers.host === undefined && httpVersion !== '1.0') {
    throw malformed('badRequest', 'The header Host is missing. Send it.')
  }
  const duplicate = findDuplicate(rawHeaders)
  if (duplicate) throw malformed('badRequest', `The header ${duplicate} was sent twice. Send it once.`)
  const coding = headers['transfer-encoding']?.toLowerCase()
  if (coding !== undefined && (coding !== 'chunked' || httpVersion === '1.0')) {
    throw malformed('badRequest', 'The header Transfer-Encoding may only be chunked, in HTTP/1.1.')
  }
  if (!isListOf('100-continue', headers.expect)) throw new HttpError('expectationFailed')
}

/** Whether each element of a header that HTTP defines as a list is a value, in any case, or there is none. */
export function isListOf(value: string, list = ''): boolean {
  const elements = list.split(',').map((element) => element.trim().toLowerCase())
  return elements.every((element) => element === '' || element === value)
}

/** The end of a malformed request is uncertain, so nothing after it is read. */
function malformed(errorName: ErrorName, message?: string): HttpError {
  return new HttpError(errorName, message, { headers: { Connection: 'close' } })
}

/** Responds to a request whose target Express cannot read: it would not call any middleware. */
export function respondToInvalidTarget(response: ServerResponse): void {
  const message = 'The request target is invalid. Use a path, or an http or https URL.'
  sendError(response, malformed('badRequest', message))
}

function findDuplicate(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? ''
    if (seen.has(name)) return name
    if (SINGLE_HEADERS.has(name)) seen.add(name)
  }
  return undefined
}

/** Responds with an `Error` body to what is not an HTTP request, or arrives too late, and closes the connection. */
export function respondToUnparsed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET') socket.destroy()
  if (socket.destroyed || discarded.has(socket)) return
  // After its first failure the parser fails with everything that follows.
  discardRest(socket)
  respondInOrder(socket, toParserError(error.code))
}

/**
 * Responds after the earlier complete requests of a connection: responses have their order (RFC 9112 section 9.3.2).
 */
function respondInOrder(socket: Duplex & { _httpMessage?: ServerResponse | null }, failure: HttpError): void {
  // Not documented: by it, Node.js decides how to respond where nothing listens to `clientError`.
  const { _httpMessage: response } = socket
  if (!response) respondAlone(socket, failure)
  else if (response.req.complete) response.once('finish', () => respondInOrder(socket, failure))
  else if (response.headersSent) socket.destroy()
  // The rest of the request will not arrive.
  else sendError(response.setHeader('Connection', 'close'), failure)
}

/** Responds where there is no request that a response belongs to. */
function respondAlone(socket: Duplex, failure: HttpError): void {
  // After a response with `Connection: close`, the socket is closing already.
  if (!socket.writable) return
  const response = new ServerResponse(new IncomingMessage(socket as Socket))
  response.assignSocket(socket as Socket)
  const headers = new Map([...COMMON_HEADERS, ['X-Request-Id', randomUUID()], ['Connection', 'close']])
  sendError(response.setHeaders(headers), failure)
  socket.end()
  // Not once this is written, which a client that reads nothing delays for ever.
  closeLater(socket)
}

function toParserError(code: string | undefined): HttpError {
  if (code === 'HPE_HEADER_OVERFLOW') return new HttpError('headersTooLarge')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new HttpError('requestTimeout')
  return new HttpError('badRequest', 'The request is not well-formed HTTP/1.1.')
}
