import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import type { Express, Request, Response } from 'express'
import { createConnections } from '../../limits/connections.ts'
import { createPipelining } from '../../limits/pipelining.ts'
import type { Settings } from '../../settings/settings.ts'
import { requestRejected } from '../../telemetry/events.ts'
import { isValidTarget, rejectTarget } from '../request/receive-request.ts'
import { createMessageClasses } from './message-classes.ts'
import { rejectTunnel, rejectUnparsed } from './reject-unparsed.ts'

type ConnectionLimits = Pick<
  Settings,
  'maxConnections' | 'headersTimeout' | 'requestTimeout' | 'keepAliveTimeout' | 'stallTimeout'
>

/** An HTTP server. */
export interface HttpServer {
  server: Server
  /**
   * Passes requests on to an app. The first one must be set before the server listens.
   *
   * @param onEnd called with the connection of each response that has been handed over whole
   */
  use(app: Express, onEnd?: (socket: Socket) => void): void
  openConnections(): number
  /** Makes every response the last one of its connection. */
  drain(): void
}

const MAX_HEADER_BYTES = 16 * 1024
/** How often Node.js looks for late requests, at most, in milliseconds; its own default is 30 s. */
const LATE_CHECK_INTERVAL = 1_000

/** Creates an HTTP server that responds with an `Error` body also to what cannot be parsed, or is late. */
export function createHttpServer(limits: ConnectionLimits): HttpServer {
  const connections = createConnections(limits)
  const enqueue = createPipelining(handle)
  let listener: RequestListener = () => {}
  let release: (socket: Socket) => void = () => {}
  let draining = false
  const messages = createMessageClasses(({ socket }) => {
    if (socket) release(socket)
  })

  function handle(...[request, response]: Parameters<RequestListener>): void {
    if (draining) response.setHeader('Connection', 'close')
    connections.beginResponse(request.socket)
    listener(request, response)
  }

  const receive: RequestListener = (request, response) => {
    // Node.js gives a response its socket when it is its turn.
    if (response.socket) handle(request, response)
    else enqueue(request, response)
  }

  const server = createServer({ ...toServerOptions(limits), ...messages.constructors }, receive)
  server.maxConnections = limits.maxConnections
  // No limit, since Node.js would silently drop the rest: the app rejects a request with too many.
  server.maxHeadersCount = 0
  // The app responds with `100 Continue` once it accepts the body.
  server.on('checkContinue', receive)
  // The app rejects other expectations.
  server.on('checkExpectation', receive)
  server.on('clientError', rejectUnparsed)
  server.on('drop', () => requestRejected.publish('connections'))
  server.on('connection', connections.add)
  server.on('connect', (_request, socket) => rejectTunnel(socket))
  return {
    server,
    use(app, onEnd = () => {}) {
      messages.adopt(app)
      release = onEnd
      listener = (message, reply) => {
        const [request, response] = [message as Request, reply as Response]
        const reject = () => rejectTarget(request, response)
        // The app responds to everything else.
        if (isValidTarget(request.url)) app(request, response, reject)
        else reject()
      }
    },
    openConnections: connections.count,
    drain() {
      draining = true
    },
  }
}

function toServerOptions({ headersTimeout, requestTimeout, keepAliveTimeout }: ConnectionLimits): ServerOptions {
  return {
    headersTimeout,
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(LATE_CHECK_INTERVAL, headersTimeout),
    maxHeaderSize: MAX_HEADER_BYTES,
    // The app rejects a request without Host, with an `Error` body.
    requireHostHeader: false,
  }
}
