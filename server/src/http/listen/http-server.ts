import { randomUUID } from 'node:crypto'
import { createServer, type RequestListener, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Express, Request, Response } from 'express'
import { Failure } from '../../failure.ts'
import { addressKey } from '../../limits/address-key.ts'
import { createFairShare } from '../../limits/fair-share.ts'
import type { Settings } from '../../settings/settings.ts'
import { requestRejected } from '../../telemetry/events.ts'
import { setCommonHeaders } from '../response/common-headers.ts'
import { answerFailure } from '../response/send-failure.ts'
import { createSlowReaders, type SlowReaders } from '../response/slow-readers.ts'
import { createExpressPrototypes } from './express-prototypes.ts'
import { createPipelining } from './pipelining.ts'
import { refuseTunnel, refuseUnparsed } from './reject-unparsed.ts'

type ConnectionLimits = Pick<
  Settings,
  'maxConnections' | 'headersTimeout' | 'requestTimeout' | 'keepAliveTimeout' | 'stallTimeout'
>

const MAXIMUM_HEADER_BYTES = 16 * 1024
/** How often Node.js looks for requests that are late, at most, in milliseconds. Its own default is 30 s. */
const LATE_CHECK_INTERVAL = 1_000

/** How long an idle connection may outlive the beginning of a shutdown, in milliseconds. */
const IDLE_CHECK_INTERVAL = 50

/** An HTTP server that has no app yet. */
export interface HttpServer {
  server: Server
  slowReaders: SlowReaders
  /** From now on the app answers. Until then, every request is answered that the server is starting. */
  use(app: Express): void
  /** From now on every answer says that it is the last one of its connection. */
  drain(): void
}

/** Makes an HTTP server whose own refusals (a request that cannot be parsed, or not in time) are `Error` bodies too. */
export function createHttpServer(limits: ConnectionLimits): HttpServer {
  const prototypes = createExpressPrototypes()
  let listener: RequestListener = answerStarting
  let draining = false
  const slowReaders = createSlowReaders(limits.stallTimeout)
  const handle = createPipelining((request, response) => {
    if (draining) response.setHeader('Connection', 'close')
    response.on('prefinish', watchUnread)
    listener(request, response)
  })

  /** Of a response that has been handed over whole: where its client has not read it yet, it is waited for. */
  function watchUnread(this: ServerResponse): void {
    if (this.socket && this.socket.writableLength > 0) slowReaders.watch(this)
  }

  const server = createServer({ ...toServerOptions(limits), ...prototypes.constructors }, handle)
  server.maxConnections = limits.maxConnections
  server.timeout = limits.stallTimeout
  // All of them: the app refuses a request with too many, instead of a part of them being dropped in silence.
  server.maxHeadersCount = 0
  // What reads the body says that it may come, once the request has been let in.
  server.on('checkContinue', handle)
  // The app refuses other expectations, as it does whatever else is wrong with the headers.
  server.on('checkExpectation', handle)
  server.on('clientError', refuseUnparsed)
  server.on('drop', () => requestRejected.publish('connections'))
  server.on('connection', shareConnections(limits.maxConnections))
  server.on('connect', (_request, socket) => refuseTunnel(socket))
  return {
    server,
    slowReaders,
    use(app) {
      prototypes.adopt(app)
      listener = (request, response) => app(request as Request, response as Response, neverCalled)
    },
    drain() {
      draining = true
    },
  }
}

/** Keeps one address from taking all connections. */
function shareConnections(maximum: number): (socket: Socket) => void {
  const share = createFairShare(maximum)
  return (socket) => {
    const address = addressKey(socket.remoteAddress ?? '')
    if (!share.hasRoom(address, 1)) {
      requestRejected.publish('connections')
      socket.destroy()
      return
    }
    share.take(address, 1)
    socket.once('close', () => share.release(address, 1))
  }
}

function toServerOptions({ headersTimeout, requestTimeout, keepAliveTimeout }: ConnectionLimits): ServerOptions {
  return {
    headersTimeout: Math.min(headersTimeout, requestTimeout),
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(LATE_CHECK_INTERVAL, headersTimeout, requestTimeout),
    maxHeaderSize: MAXIMUM_HEADER_BYTES,
    // A request without Host is refused with the others that are malformed, as an `Error` body.
    requireHostHeader: false,
  }
}

/** The app answers everything itself; without this Express would make a last resort for every request. */
function neverCalled(): void {}

const answerStarting: RequestListener = (_request, response) => {
  setCommonHeaders(response, randomUUID())
  const headers = { 'Retry-After': '1', Connection: 'close' }
  answerFailure(response, new Failure('unavailable', 'The server is starting. Send the request again.', { headers }))
}

/** Listens; resolves with the address, whose port is another than the one given where that is 0. */
export function listen(server: Server, port: number, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject)
      const { port: taken } = server.address() as AddressInfo
      resolve(`http://${host.includes(':') ? `[${host}]` : host}:${taken}`)
    })
  })
}

/**
 * Takes no more connections, lets requests under way end for `timeout` milliseconds, then cuts them off. Idle
 * connections are closed at once and again and again: `close` alone waits for those that fall idle later.
 */
export function stop(server: Server, timeout: number): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_INTERVAL)
    const cut = setTimeout(() => server.closeAllConnections(), timeout)
    server.close(() => {
      clearInterval(idle)
      clearTimeout(cut)
      resolve()
    })
  })
}
