/** The public port: what arrives on it is counted, gets a context, and is handed to the app. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Express, Request, Response } from 'express'
import { trackConnections } from '../connections/connections.ts'
import { type OpenPort, openPort } from '../connections/ports.ts'
import type { Settings } from '../settings.ts'
import { CLIENT_CLOSED_REQUEST, events } from '../telemetry/events.ts'
import { createContext, type Identity } from './context.ts'
import { HttpError, sendError } from './errors.ts'
import { createMessageClasses } from './responses.ts'
import { createUnparsedHandler } from './unparsed.ts'

const MAX_HEADER_BYTES = 16 * 1024
/** How long the headers of a request may take to arrive, in milliseconds. */
const HEADERS_TIMEOUT = 10_000
/** How often Node.js looks for late requests, at most, in milliseconds; its own default is 30 s. */
const LATE_CHECK_INTERVAL = 1_000

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
    maxHeaderSize: MAX_HEADER_BYTES,
    // The app rejects a request without Host, with an `Error` body.
    requireHostHeader: false,
    // A request without a body is no stream, whose events take 7 % of the CPU time of a list.
    optimizeEmptyRequests: true,
    ...classes,
  })
  // No limit, since Node.js would silently drop the rest: the app rejects a request with too many.
  server.maxHeadersCount = 0
  const connections = trackConnections(server, settings.maxConnections)

  function receive(message: IncomingMessage, reply: ServerResponse): void {
    const [request, response] = [message as Request, reply as Response]
    if (!connections.admit(request, response)) return
    request.context = createContext(request)
    if (events.listenerCount('requestEnded') > 0) reportEnd(request, response)
    app(request, response, () => respondToNoPath(response))
  }

  // The app responds with `100 Continue` once it accepts the body, and rejects other expectations.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, receive)
  server.on('clientError', createUnparsedHandler(classes))
  return openPort(server, connections, settings)
}

/** Responds to a request whose target has no path, such as `http://`: Express calls nothing. */
function respondToNoPath(response: Response): void {
  const message = 'The request target is invalid. Use a path, or an http or https URL.'
  sendError(response, new HttpError('badRequest', message, { headers: { Connection: 'close' } }))
}

/** Tells log and metrics when a request has got its response, or its connection has closed before. */
function reportEnd(request: Request, response: Response): void {
  const begin = performance.now()
  response.once('close', () => {
    const { requestId, path: route, identity, errorCode: error } = request.context
    const { account, tokenId } = (identity as Identity | undefined) ?? {}
    const [path, status, seconds] = [String(request.path), finalStatus(response), (performance.now() - begin) / 1_000]
    events.emit('requestEnded', {
      requestId,
      method: request.method,
      path,
      route,
      status,
      error,
      seconds,
      account,
      tokenId,
    })
  })
}

/** Returns the status of a response that has closed: 499 if the connection closed before the response was complete. */
function finalStatus({ req: request, writableFinished, errored, statusCode }: Response): number {
  // A client that ends its side in the middle of a request has usually disconnected; it gets a 400 if it has not.
  if (!request.complete && request.socket.readableEnded) return CLIENT_CLOSED_REQUEST
  // A response that failed midway has the status of its failure, though its client has seen a success before.
  return writableFinished || errored ? statusCode : CLIENT_CLOSED_REQUEST
}
