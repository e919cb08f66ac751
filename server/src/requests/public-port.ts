/** The public port: requests that arrive on it are handed to the app; what is not HTTP gets an error here. */
import { createServer, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorName } from '@plant-store/contract'
import type { Express } from 'express'
import { createContext, createListener } from '../app.ts'
import { closeLater, discarded, discardRest, trackConnections } from '../connections/connections.ts'
import { type OpenPort, openPort } from '../connections/ports.ts'
import type { Settings } from '../settings.ts'
import { closing, type HttpError, sendError } from './errors.ts'
import { createMessageClasses, type MessageClasses } from './responses.ts'

/** How long the headers of a request may take to arrive, in milliseconds. */
const HEADERS_TIMEOUT = 10_000
/** How often Node.js looks for late requests, at most, in milliseconds; its own default is 30 s. */
const LATE_CHECK_INTERVAL = 1_000

/** A connection, which Node.js gives to one response at a time. */
type HttpSocket = Socket & { _httpMessage?: ServerResponse | null }

/** The errors of the parser that have an entry of their own in the catalogue. */
const PARSER_ERRORS: Readonly<Record<string, ErrorName>> = {
  HPE_HEADER_OVERFLOW: 'headersTooLarge',
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
}

/**
 * Listens on the public port, and hands requests to an app. What cannot be parsed, or is late, gets an `Error` body, too.
 *
 * @throws {OperatorError} if the port cannot be listened on
 */
export async function openPublicPort(app: Express, settings: Settings): Promise<OpenPort> {
  const { requestTimeout, keepAliveTimeout } = settings
  const headersTimeout = Math.min(HEADERS_TIMEOUT, requestTimeout)
  const classes = createMessageClasses(app)
  const server = createServer({
    headersTimeout,
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(LATE_CHECK_INTERVAL, headersTimeout),
    // The app rejects a request without Host, with an `Error` body.
    requireHostHeader: false,
    // A request without a body is no stream, whose events take 7 % of the CPU time of a list.
    optimizeEmptyRequests: true,
    ...classes,
  })
  // No limit, since Node.js would silently drop the rest: the app rejects a request with too many.
  server.maxHeadersCount = 0
  const connections = trackConnections(server, settings.maxConnections)

  // The app responds with `100 Continue` once it accepts the body, and rejects other expectations.
  const listener = createListener(app, connections)
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, listener)
  server.on('clientError', createUnparsedHandler(classes))
  return openPort(server, connections, settings)
}

/**
 * Creates the response to what is not HTTP, or arrives too late: an `Error` body, after the responses to the earlier
 * complete requests of the connection (RFC 9112 section 9.3.2). The connection ends.
 */
function createUnparsedHandler({ IncomingMessage, ServerResponse }: MessageClasses) {
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
    respondInOrder(socket, closing(PARSER_ERRORS[code] ?? 'badRequest'))
  }
}
