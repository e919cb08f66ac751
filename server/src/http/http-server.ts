import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Express, Request, Response } from 'express'
import { answerFailure } from './answer-failure.ts'
import { createExpressPrototypes } from './express-prototypes.ts'
import { Failure } from './failure.ts'

/** Limits in time and size of what a caller may take; times in milliseconds. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 5_000,
  maxHeaderSize: 16 * 1024,
  // A request without Host is refused with the others that are malformed, as an `Error` body.
  requireHostHeader: false,
}

/** How long an idle connection may outlive the beginning of a shutdown, in milliseconds. */
const IDLE_CHECK_INTERVAL = 50

/** An HTTP server that has no app yet. */
export interface HttpServer {
  server: Server
  /** From now on the app answers. Until then, every request is answered that the server is starting. */
  use(app: Express): void
}

/** Makes an HTTP server whose own refusals (a request that cannot be parsed, or not in time) are `Error` bodies too. */
export function createHttpServer(): HttpServer {
  const prototypes = createExpressPrototypes()
  let listener: RequestListener = answerStarting
  const handle: RequestListener = (request, response) => listener(request, response)
  const server = createServer({ ...LIMITS, ...prototypes.constructors }, handle)
  // What reads the body says that it may come, once the request has been let in.
  server.on('checkContinue', handle)
  server.on('checkExpectation', (_request, response) => answerFailure(response, new Failure('expectationFailed')))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuseUnparsed(error, socket))
  return {
    server,
    use(app) {
      prototypes.adopt(app)
      listener = (request, response) => app(request as Request, response as Response, neverCalled)
    },
  }
}

/** The app answers everything itself; without this Express would make a last resort for every request. */
function neverCalled(): void {}

const answerStarting: RequestListener = (_request, response) => {
  const headers = { 'Retry-After': '1', Connection: 'close' }
  answerFailure(response, new Failure('unavailable', 'The server is starting. Send the request again.', { headers }))
}

/** Listens; resolves with the port, which is another than the one given where that is 0. */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject)
      resolve((server.address() as AddressInfo).port)
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

function refuseUnparsed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, body } = toFailure(error.code)
  const text = JSON.stringify(body)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Cache-Control: no-store',
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
}

function toFailure(code: string | undefined): Failure {
  if (code === 'HPE_HEADER_OVERFLOW') return new Failure('headersTooLarge')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Failure('requestTimeout')
  return new Failure('badRequest', 'The request is not well-formed HTTP/1.1.')
}
