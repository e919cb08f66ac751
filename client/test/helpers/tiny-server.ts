import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterFile } from '../../../test/helpers/temporary.ts'
import { type ClientOptions, createPlantStoreClient } from '../../src/index.ts'

/** A request as the server received it. */
interface ReceivedRequest {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: string
}

/** Responds to a request. `number` counts from 1. */
export type Handler = (response: ServerResponse, request: ReceivedRequest, number: number) => unknown

/** Starts an HTTP server on a free local port, which is closed after the file's tests, if not before. */
export async function startTinyServer(handler: Handler) {
  const requests: ReceivedRequest[] = []
  // A busy machine must not decide a test: no connection is closed while a test computes.
  const server = createServer({ keepAliveTimeout: 60_000 }, async (incoming, response) => {
    const { method = '', url = '', headers } = incoming
    const request = { method, url, headers, body: await text(incoming).catch(() => '') }
    await handler(response, request, requests.push(request))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  afterFile(close)
  return {
    url,
    requests,
    /** Creates a client of this server. */
    createClient: (options?: ClientOptions) => createPlantStoreClient({ baseUrl: url, token: 'pst_test', ...options }),
    [Symbol.asyncDispose]: close,
  }
}

/** Responds with JSON. */
export function sendJson(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** Breaks the connection in the middle of a response. */
export const breakOff: Handler = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
  response.write('{"name":', () => response.destroy())
}

/** Responds with an `Error` body. */
export function respondError(code: number): Handler {
  const body = { error: code, message: `failure ${code}` }
  return (response) => sendJson(response, Math.floor(code / 100), body)
}
