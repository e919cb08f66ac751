import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request as it came over the wire. */
export interface ReceivedRequest {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}

/** A server that answers what a test wants. */
export interface TinyServer extends AsyncDisposable {
  url: string
  requests: ReceivedRequest[]
}

/** Answers the request with this number, the first being 1. */
export type Answering = (response: ServerResponse, request: ReceivedRequest, number: number) => unknown

/** Starts a real HTTP server on a free port of this machine. */
export async function startTinyServer(answer: Answering): Promise<TinyServer> {
  const requests: ReceivedRequest[] = []
  const server = createServer(async (incoming, response) => {
    const { method = '', url = '', headers } = incoming
    const body = await text(incoming).catch(() => '')
    const request = { method, url, headers, body }
    requests.push(request)
    await answer(response, request, requests.length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Answers JSON. */
export function sendJson(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** Answers an `Error` body. */
export function sendError(response: ServerResponse, code: number, headers: object = {}): void {
  sendJson(response, Math.floor(code / 100), { error: code, message: `failure ${code}` }, headers)
}
