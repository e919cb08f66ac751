import { createServer, IncomingMessage, type Server, type ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Express, Request, Response } from 'express'
import { createConnections } from '../../limits/connections.ts'
import type { Settings } from '../../settings/settings.ts'
import { requestRejected } from '../../telemetry/events.ts'
import { isValidTarget, rejectTarget } from '../request/receive-request.ts'
import { COMMON_HEADERS } from '../response/send-json.ts'
import { rejectTunnel, rejectUnparsed } from './reject-unparsed.ts'

/** An HTTP server. */
export interface HttpServer {
  server: Server
  openConnections(): number
  /** Makes every response the last one of its connection. */
  drain(): void
}

const MAX_HEADER_BYTES = 16 * 1024
/** How often Node.js looks for late requests, at most, in milliseconds; its own default is 30 s. */
const LATE_CHECK_INTERVAL = 1_000

/**
 * Creates an HTTP server that passes requests on to an app, and responds with an `Error` body also to what cannot be parsed,
 * or is late.
 *
 * @param onEnd called with the connection of each response that has been handed over whole, and with each that has closed
 */
export function createHttpServer(app: Express, settings: Settings, onEnd: (socket: Socket) => void): HttpServer {
  let draining = false
  const connections = createConnections(settings, (message, reply) => {
    const [request, response] = [message as Request, reply as Response]
    if (draining) response.setHeader('Connection', 'close')
    const reject = () => rejectTarget(request, response)
    // The app responds to everything else.
    if (isValidTarget(request.url)) app(request, response, reject)
    else reject()
  })

  const { headersTimeout, requestTimeout, keepAliveTimeout } = settings
  const options: ServerOptions = {
    headersTimeout,
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(LATE_CHECK_INTERVAL, headersTimeout),
    maxHeaderSize: MAX_HEADER_BYTES,
    // The app rejects a request without Host, with an `Error` body.
    requireHostHeader: false,
    ...createMessageClasses(app, onEnd),
  }
  const server = createServer(options, connections.receive)
  server.maxConnections = settings.maxConnections
  // No limit, since Node.js would silently drop the rest: the app rejects a request with too many.
  server.maxHeadersCount = 0
  // The app responds with `100 Continue` once it accepts the body.
  server.on('checkContinue', connections.receive)
  // The app rejects other expectations.
  server.on('checkExpectation', connections.receive)
  server.on('clientError', rejectUnparsed)
  server.on('drop', () => requestRejected.publish('connections'))
  server.on('connection', (socket) => {
    connections.add(socket)
    // Not all responses end.
    socket.once('close', () => onEnd(socket))
  })
  server.on('connect', (_request, socket) => rejectTunnel(socket))
  return {
    server,
    openConnections: connections.count,
    drain() {
      draining = true
    },
  }
}

const COMMON = COMMON_HEADERS.flat()

/**
 * Creates the classes of requests and responses, which do once what would otherwise be done for every request:
 *
 * - They have Express's methods. Express would replace the prototypes of every request and response, and V8 stops
 *   optimizing objects whose prototype changes (https://github.com/expressjs/express/issues/5998).
 * - Common headers are written with the others: calling `setHeader` for each takes longer than the rest of the head.
 * - The end of a response is seen without a listener: the first listeners of a response make its table of events grow.
 *
 * @param onEnd called with the connection once the whole response is handed over to it
 */
function createMessageClasses(app: Express, onEnd: (socket: Socket) => void) {
  class Request extends IncomingMessage {
    requestId = ''
  }

  class Response<Message extends IncomingMessage> extends ServerResponse<Message> {
    /** Takes headers as a list of names and values only, which Node.js does not copy. */
    override writeHead(status: number, headers: unknown = []): this {
      if (!Array.isArray(headers))
        throw new TypeError('writeHead takes a list of names and values: use setHeader instead')
      const names = this.getHeaderNames()
      const common = names.length === 0 ? COMMON : COMMON_HEADERS.filter(([name]) => !this.hasHeader(name)).flat()
      const { requestId } = this.req as IncomingMessage as Request
      return super.writeHead(status, [...common, 'X-Request-Id', requestId, ...headers])
    }

    override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
      super.end(chunk, encoding as BufferEncoding, callback as () => void)
      if (this.socket) onEnd(this.socket)
      return this
    }
  }

  Object.setPrototypeOf(Request.prototype, app.request)
  Object.setPrototypeOf(Response.prototype, app.response)
  app.request = Request.prototype as typeof app.request
  app.response = Response.prototype as typeof app.response
  return { IncomingMessage: Request, ServerResponse: Response }
}
