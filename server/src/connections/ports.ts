/** The public port and the admin port: who listens on them, what is passed on to the app, and how they stop. */
import cluster from 'node:cluster'
import { once } from 'node:events'
import { createServer, IncomingMessage, type Server, type ServerOptions, ServerResponse } from 'node:http'
import net from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Express, Request, Response } from 'express'
import type { Logger } from 'pino'
import { OperatorError } from '../operator-error.ts'
import { respondToInvalidTarget, respondToUnparsed } from '../requests/malformed-requests.ts'
import { createTimeSlices } from '../requests/time-slices.ts'
import type { Settings } from '../settings.ts'
import { trackRequest } from '../telemetry/events.ts'
import { type Connections, limitConnections, trackConnections } from './connections.ts'
import { addressKey } from './places.ts'

/** Where to listen. */
interface Address {
  host: string
  /** 0: any free one. */
  port: number
  /** Whether several listeners share the port. Default: false. */
  reusePort?: boolean
}

/** A port that a server listens on. */
export interface OpenPort {
  /** Such as `http://127.0.0.1:3000`. */
  readonly url: string
  readonly connections: Connections
  /**
   * Accepts no more connections, waits for requests in flight, and then closes all connections.
   *
   * @param timeout how long it waits at most, in milliseconds
   */
  close(timeout: number): Promise<void>
}

/** How many listeners a shared port has. */
const LISTENERS = 16
/** How many connections wait in a listener, at most, until Node.js accepts them: its default. */
const BACKLOG = 511
/** How long an idle connection may outlive the start of a shutdown, in milliseconds. */
const IDLE_CHECK_INTERVAL = 50
const MAX_HEADER_BYTES = 16 * 1024
/** How long the headers of a request may take to arrive, in milliseconds. */
const HEADERS_TIMEOUT = 10_000
/** How often Node.js looks for late requests, at most, in milliseconds; its own default is 30 s. */
const LATE_CHECK_INTERVAL = 1_000
/**
 * Lets a client end its side of a connection after its requests, as `nc -N` and some proxies do: it gets its responses,
 * and then the connection ends. By default, Node.js ends it before a response that takes more than a turn of the event
 * loop. It is not documented.
 */
export const HALF_CLOSED = { httpAllowHalfOpen: true }
/** So many chunks of a body are read before other connections have their turn, and what came with them. */
const CHUNKS_PER_TURN = 256

/**
 * Checks that a port can be listened on. A connection that arrives in this moment is closed.
 *
 * @throws {OperatorError}
 */
export async function checkPort({ host, port }: Address): Promise<void> {
  const server = net.createServer((socket) => socket.destroy())
  await listen(server, { host, port })
  await once(server.close(), 'close')
}

/**
 * Listens on the public port, and passes requests on to an app. Node.js accepts one connection in a turn of the event
 * loop (libuv since 1.45), so that a new client would wait for seconds behind hundreds of others; of many listeners it
 * accepts one each, and the operating system shares the connections out among them. Where it cannot, such as on macOS
 * and Windows, one listens.
 *
 * @throws {OperatorError} if the port cannot be listened on
 */
export async function openPublicPort(app: Express, settings: Settings, logger: Logger): Promise<OpenPort> {
  const { host, port } = settings
  // A process of the same user may share a port of this one without noticing.
  await checkPort(settings)
  const { server, connections } = createHttpServer(app, settings, logger)
  await listen(server, { host, port, reusePort: true }).catch(() => listen(server, { host, port }))
  const { address, port: number } = server.address() as net.AddressInfo
  const others = Array.from({ length: LISTENERS - 1 }, () =>
    net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      server.emit('connection', socket)
    }),
  )
  await Promise.allSettled(others.map((other) => listen(other, { host: address, port: number, reusePort: true })))
  const listening = others.filter((other) => other.listening)
  return createOpenPort([server, ...listening], connections)
}

/** Creates the server of an app. What cannot be parsed, or is late, gets an `Error` body, too. */
function createHttpServer(
  app: Express,
  settings: Settings,
  logger: Logger,
): { server: Server; connections: Connections } {
  const { requestTimeout, keepAliveTimeout, maxConnections, maxRequestsInFlight } = settings
  const slices = createTimeSlices()

  function receive(message: IncomingMessage, reply: ServerResponse): void {
    const [request, response] = [message as Request, reply as Response]
    if (!connections.admit(request, response)) return
    trackRequest(request, response)
    if (request.headers['transfer-encoding'] !== undefined) yieldBetweenChunks(request)
    if (slices.hasTime()) begin(request, response)
    else if (response.socket || slices.size() < maxRequestsInFlight / 2) void wait(request, response)
    // Hundreds of requests behind another one may arrive together, and would wait in memory.
    else request.socket.destroy()
  }

  async function wait(request: Request, response: Response): Promise<void> {
    await slices.wait(addressKey(request.socket.remoteAddress))
    begin(request, response)
  }

  function begin(request: Request, response: Response): void {
    if (!connections.begin(response)) return
    // The app responds to all targets that Express can read.
    app(request, response, () => respondToInvalidTarget(response))
  }

  const headersTimeout = Math.min(HEADERS_TIMEOUT, requestTimeout)
  const options = {
    headersTimeout,
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(LATE_CHECK_INTERVAL, headersTimeout),
    maxHeaderSize: MAX_HEADER_BYTES,
    // The app rejects a request without Host, with an `Error` body.
    requireHostHeader: false,
    // A request without a body is no stream, whose events take 7 % of the CPU time of a list.
    optimizeEmptyRequests: true,
    ...createMessageClasses(app),
  }
  const server = Object.assign(createServer(options, receive), HALF_CLOSED)
  // No limit, since Node.js would silently drop the rest: the app rejects a request with too many.
  server.maxHeadersCount = 0
  // The app responds with `100 Continue` once it accepts the body.
  server.on('checkContinue', receive)
  // The app rejects other expectations.
  server.on('checkExpectation', receive)
  server.on('clientError', respondToUnparsed)
  const connections = trackConnections(server, limitConnections(maxConnections, logger))
  return { server, connections }
}

/**
 * Creates classes of requests and responses that have Express's methods. Express would replace the prototype of each,
 * after which V8 optimizes it less (https://github.com/expressjs/express/issues/5998): a list takes 7 % more CPU time.
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

/**
 * Lets a body in many chunks give other connections their turn, also a body that nothing uses: Node.js reads up to 2 MB
 * of a connection in a turn of the event loop, which takes a second where each chunk has one byte. These are methods of
 * such a request only, since in its class they slow every request down.
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

/** @throws {OperatorError} that names the settings of the address, which begin with the prefix */
export async function listen(server: net.Server, address: Address, prefix = ''): Promise<void> {
  if (cluster.isWorker) throw new OperatorError(NO_WORKER)
  try {
    await once(server.listen(address), 'listening')
  } catch (error) {
    throw portError(error, address, prefix)
  }
}

/**
 * What the error codes of an address say that the machine does not have, such as IPv6 or an interface that is missing.
 */
const NOT_HERE = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EINVAL', 'EAFNOSUPPORT']

/** Each process would have limits and metrics of its own. */
const NO_WORKER =
  "The server cannot run in a cluster of processes that share a port: for PM2, set exec_mode 'fork' and instances 1."

function portError(cause: unknown, { host, port }: Address, prefix: string): OperatorError {
  const { code = '' } = cause as NodeJS.ErrnoException
  const [hostName, name] = [`${prefix}HOST`, `${prefix}PORT`]
  if (NOT_HERE.includes(code)) {
    const message = `${hostName} ${host} is not an address of this machine. Set ${hostName} to one that is.`
    return new OperatorError(message, 2, cause)
  }
  if (code === 'EACCES') {
    const message = `${name} ${port} needs more privileges than this user has. Set a ${name} above 1023.`
    return new OperatorError(message, 2, cause)
  }
  const inUse = `${name} ${port} on ${host} is already in use. Stop the other program or set another ${name}.`
  const other = `The server cannot listen on ${hostName} ${host}, ${name} ${port}: ${code}.`
  return new OperatorError(code === 'EADDRINUSE' ? inUse : other, 1, cause)
}

export function createOpenPort(listeners: readonly [Server, ...net.Server[]], connections: Connections): OpenPort {
  const [server] = listeners
  // The address of a name, such as localhost, may be any of several.
  const { address, family, port } = server.address() as net.AddressInfo
  return {
    connections,
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    async close(timeout): Promise<void> {
      const deadline = performance.now() + timeout
      server.closeIdleConnections()
      await acceptWaiting(connections, timeout / 2)
      // Repeatedly: `close` alone waits for those that become idle later.
      const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_INTERVAL)
      const abort = setTimeout(() => connections.destroyAll(), Math.max(0, deadline - performance.now()))
      await Promise.all(listeners.map((listener) => once(listener.close(), 'close')))
      clearInterval(idle)
      clearTimeout(abort)
      // What belongs to a connection ends a moment after it.
      while (connections.count() > 0) await nextTurn()
    },
  }
}

/**
 * Waits until Node.js has accepted the connections that wait in listeners, one of each listener in a turn of the event
 * loop: a listener that closes resets them. While more arrive all the time, those that have waited are accepted.
 */
async function acceptWaiting(connections: Connections, timeout: number): Promise<void> {
  const end = performance.now() + timeout
  for (let turn = 0; turn < BACKLOG && performance.now() < end; turn++) {
    const before = connections.accepted()
    await nextTurn()
    if (connections.accepted() === before) return
  }
}
