import { createServer, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import type { Express, Request, Response } from 'express'
import type { Settings } from '../../settings.ts'
import { requestRejected } from '../../telemetry/events.ts'
import { isValidTarget, rejectTarget } from '../request/receive-request.ts'
import { createConnections } from './connections.ts'
import { createMessageClasses } from './message-classes.ts'
import { respondToHalfClosed } from './ports.ts'
import { rejectTunnel, rejectUnparsed } from './reject-unparsed.ts'
import { takeTurns } from './turns.ts'

/** An HTTP server. */
export type HttpServer = ReturnType<typeof createHttpServer>

const MAX_HEADER_BYTES = 16 * 1024
/** How often Node.js looks for late requests, at most, in milliseconds; its own default is 30 s. */
const LATE_CHECK_INTERVAL = 1_000

/**
 * Creates an HTTP server that passes requests on to an app, and responds with an `Error` body also to what cannot be parsed,
 * or is late.
 *
 * @param onEnd called with the connection of each response that has been handed over whole, and with each that has closed
 */
export function createHttpServer(app: Express, settings: Settings, onEnd: (socket: Socket) => void) {
  let draining = false
  const connections = createConnections(settings)
  const receive = takeTurns((message, reply) => {
    const [request, response] = [message as Request, reply as Response]
    connections.beginResponse(request.socket)
    if (draining) response.setHeader('Connection', 'close')
    const reject = () => rejectTarget(request, response)
    // The app responds to everything else.
    if (isValidTarget(request.url)) app(request, response, reject)
    else reject()
  })

  const { requestTimeout, keepAliveTimeout } = settings
  const headersTimeout = Math.min(settings.headersTimeout, requestTimeout)
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
  const server = createServer(options, receive)
  respondToHalfClosed(server)
  server.maxConnections = settings.maxConnections
  // No limit, since Node.js would silently drop the rest: the app rejects a request with too many.
  server.maxHeadersCount = 0
  // The app responds with `100 Continue` once it accepts the body.
  server.on('checkContinue', receive)
  // The app rejects other expectations.
  server.on('checkExpectation', receive)
  server.on('clientError', rejectUnparsed)
  server.on('drop', () => requestRejected.publish('connections'))
  server.on('connection', (socket) => {
    connections.add(socket)
    // A response that is aborted has no end.
    socket.once('close', () => onEnd(socket))
  })
  server.on('connect', (_request, socket) => rejectTunnel(socket))
  return {
    server,
    openConnections: connections.count,
    /** Makes every response the last one of its connection. */
    drain(): void {
      draining = true
    },
  }
}
