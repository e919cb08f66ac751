import { createServer, IncomingMessage, type Server, type ServerOptions, ServerResponse } from 'node:http'
import type { Express, Request, Response } from 'express'
import type { Logger } from 'pino'
import { respondToHalfClosed } from '../node-internals.ts'
import type { Settings } from '../settings.ts'
import { type Connections, endAfter, limitConnections, trackConnections } from './connections.ts'
import { rejectTarget, rejectUnparsed } from './malformed-requests.ts'

/** The HTTP server of the public port. */
export interface HttpServer {
  readonly server: Server
  readonly connections: Connections
  /** Makes every response the last one of its connection. */
  drain(): void
}

const MAX_HEADER_BYTES = 16 * 1024
/** How long the headers of a request may take to arrive, in milliseconds. */
const HEADERS_TIMEOUT = 10_000
/** How often Node.js looks for late requests, at most, in milliseconds; its own default is 30 s. */
const LATE_CHECK_INTERVAL = 1_000

/**
 * Creates an HTTP server that passes requests on to an app, and responds with an `Error` body also to what cannot be parsed,
 * or is late.
 */
export function createHttpServer(app: Express, settings: Settings, logger: Logger): HttpServer {
  let draining = false
  function receive(message: IncomingMessage, reply: ServerResponse): void {
    const [request, response] = [message as Request, reply as Response]
    if (!connections.admit(request, response)) return
    if (request.headers['transfer-encoding'] !== undefined) yieldBetweenChunks(request)
    if (draining) endAfter(response)
    // The app responds to all targets that Express can read.
    app(request, response, () => rejectTarget(request, response))
  }

  const { requestTimeout, keepAliveTimeout } = settings
  const headersTimeout = Math.min(HEADERS_TIMEOUT, requestTimeout)
  const options = {
    headersTimeout,
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(LATE_CHECK_INTERVAL, headersTimeout),
    maxHeaderSize: MAX_HEADER_BYTES,
    // The app rejects a request without Host, with an `Error` body.
    requireHostHeader: false,
    ...createMessageClasses(app),
  }
  const server = createServer(options, receive)
  respondToHalfClosed(server)
  // No limit, since Node.js would silently drop the rest: the app rejects a request with too many.
  server.maxHeadersCount = 0
  // The app responds with `100 Continue` once it accepts the body.
  server.on('checkContinue', receive)
  // The app rejects other expectations.
  server.on('checkExpectation', receive)
  server.on('clientError', rejectUnparsed)
  const connections = trackConnections(server, limitConnections(settings.maxConnections, logger))
  return {
    server,
    connections,
    drain(): void {
      draining = true
    },
  }
}

/**
 * Creates classes of requests and responses that have Express's methods. Express would replace the prototype of each, after
 * which V8 optimizes it less (https://github.com/expressjs/express/issues/5998): a list takes 7 % more CPU time.
 */
function createMessageClasses(app: Express): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Message extends IncomingMessage> extends ServerResponse<Message> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request)
  Object.setPrototypeOf(AppResponse.prototype, app.response)
  app.request = AppRequest.prototype as typeof app.request
  app.response = AppResponse.prototype as typeof app.response
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse }
}

/** So many chunks of a body are read before other connections have their turn, and what came with them. */
const CHUNKS_PER_TURN = 256

/**
 * Lets a body in many chunks give other connections their turn, also a body that nothing uses: Node.js reads up to 2 MB of a
 * connection in a turn of the event loop, which takes a second where each chunk has one byte. These are methods of such a
 * request only, since in its class they slow every request down.
 */
function yieldBetweenChunks(request: IncomingMessage): void {
  const push = request.push.bind(request)
  const read = request._read.bind(request)
  let chunks = 0
  let waits = false
  request.push = (chunk, encoding) => {
    const more = push(chunk, encoding)
    if (++chunks % CHUNKS_PER_TURN !== 0) return more
    waits = true
    request.socket.pause()
    setImmediate(() => {
      waits = false
      request.socket.resume()
    })
    return false
  }
  // Node.js calls it where more may be read, which would resume the connection.
  request._read = (size) => {
    if (!waits) read(size)
  }
}
