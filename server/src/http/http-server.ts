import { createServer, IncomingMessage, type Server, type ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Express, Request, Response } from 'express'
import type { Logger } from 'pino'
import type { Settings } from '../settings.ts'
import { requestRejected } from '../telemetry/events.ts'
import { addressKey } from './client-address.ts'
import { createFairShare } from './fair-share.ts'
import { rejectTarget, rejectTunnel, rejectUnparsed } from './malformed-requests.ts'
import { respondToHalfClosed } from './ports.ts'

/** An HTTP server. */
export type HttpServer = ReturnType<typeof createHttpServer>

const MAX_HEADER_BYTES = 16 * 1024
/** How long the headers of a request may take to arrive, in milliseconds. */
const HEADERS_TIMEOUT = 10_000
/** How often Node.js looks for late requests, at most, in milliseconds; its own default is 30 s. */
const LATE_CHECK_INTERVAL = 1_000

/**
 * Creates an HTTP server that passes requests on to an app, and responds with an `Error` body also to what cannot be parsed,
 * or is late.
 */
export function createHttpServer(app: Express, settings: Settings) {
  let draining = false
  function receive(message: IncomingMessage, reply: ServerResponse): void {
    const [request, response] = [message as Request, reply as Response]
    if (request.headers['transfer-encoding'] !== undefined) yieldBetweenChunks(request)
    if (draining) response.setHeader('Connection', 'close')
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
  server.on('connect', (_request, socket) => rejectTunnel(socket))
  return {
    server,
    openConnections: shareConnections(server, settings.maxConnections),
    /** Makes every response the last one of its connection. */
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

/** How many files and sockets are kept for the admin port, the database and the log. */
const RESERVED = 256
/** A limit that is lowered to less than this part of it is logged. */
const NOTABLE = 0.95
/** So many chunks of a body are read before other connections have their turn, and what came with them. */
const CHUNKS_PER_TURN = 256

/**
 * Returns how many connections clients may have: `MAX_CONNECTIONS`, or what the limit of open files leaves. Beyond that limit
 * every new connection would be reset, those of probes too, and the database could not be opened again.
 */
export function limitConnections(maxConnections: number, logger: Logger): number {
  // Without this, a report looks up the names of addresses.
  Object.assign(process.report, { excludeNetwork: true })
  // Node.js has raised it to the hard limit. Windows has none.
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files: { soft: number | 'unlimited' } } }
  const nofile = Number(userLimits?.open_files.soft)
  const left = Math.max(Math.floor(nofile / 2), nofile - RESERVED)
  if (!(left < maxConnections)) return maxConnections
  // A few less are not worth a line at every startup.
  if (left >= NOTABLE * maxConnections) return left
  const advice = 'Raise it (LimitNOFILE of systemd, ulimits of Docker, ulimit -n), or lower MAX_CONNECTIONS'
  const change = `MAX_CONNECTIONS is lowered from ${maxConnections} to ${left}`
  logger.warn(`${change}, since the limit of open files (nofile) is ${nofile}. ${advice}.`)
  return left
}

/**
 * Limits the connections of clients, of which one address cannot take all.
 *
 * @returns a function that returns how many are open
 */
function shareConnections(server: Server, maxConnections: number): () => number {
  const share = createFairShare(maxConnections)
  server.maxConnections = maxConnections
  server.on('drop', () => requestRejected.publish('connections'))
  server.on('connection', (socket: Socket) => {
    const address = addressKey(socket.remoteAddress)
    if (!share.hasRoom(address)) {
      requestRejected.publish('connections')
      socket.destroy()
      return
    }
    share.take(address)
    socket.once('close', () => share.release(address))
  })
  return share.used
}

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
