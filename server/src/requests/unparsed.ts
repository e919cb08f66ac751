import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorName } from '@plant-store/contract'
import { closeLater, discarded, discardRest } from '../connections/connections.ts'
import { createContext } from './context.ts'
import { HttpError, sendError } from './errors.ts'
import type { MessageClasses } from './responses.ts'

/** A connection, which Node.js gives to one response at a time. */
type HttpSocket = Socket & { _httpMessage?: ServerResponse | null }

/** The errors of the parser that have an entry of their own in the catalogue. */
const PARSER_ERRORS: Readonly<Record<string, ErrorName>> = {
  HPE_HEADER_OVERFLOW: 'headersTooLarge',
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
}

/**
 * Creates the response to what is not HTTP, or arrives too late: an `Error` body, after the responses to the earlier
 * complete requests of the connection (RFC 9112 section 9.3.2). The connection ends.
 */
export function createUnparsedHandler({ IncomingMessage, ServerResponse }: MessageClasses) {
  function respondInOrder(socket: HttpSocket, failure: HttpError): void {
    // Not documented: by it, Node.js decides how to respond where nothing listens to `clientError`.
    const { _httpMessage: open } = socket
    if (!open) respondAlone(socket, failure)
    else if (open.req.complete) open.once('finish', () => respondInOrder(socket, failure))
    else if (open.headersSent) socket.destroy()
    // The rest of the request will not arrive.
    else sendError(open, failure)
  }

  /** Responds where there is no request that a response belongs to. */
  function respondAlone(socket: HttpSocket, failure: HttpError): void {
    // After a response with `Connection: close`, the socket is closing already.
    if (!socket.writable) return
    const request = new IncomingMessage(socket)
    const response = new ServerResponse(Object.assign(request, { complete: true, context: createContext(request) }))
    response.assignSocket(socket)
    sendError(response, failure)
    socket.end()
    // Not once this is written, which a client that reads nothing delays for ever.
    closeLater(socket)
  }

  return ({ code = '' }: NodeJS.ErrnoException, socket: HttpSocket): void => {
    if (code === 'ECONNRESET') socket.destroy()
    if (socket.destroyed || discarded.has(socket)) return
    // After its first failure the parser fails with everything that follows.
    discardRest(socket)
    const name = PARSER_ERRORS[code] ?? 'badRequest'
    respondInOrder(socket, new HttpError(name, undefined, { headers: { Connection: 'close' } }))
  }
}
