import { once } from 'node:events'
import { createServer, request as sendRequest } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

/** An HTTP proxy, which forwards requests and opens tunnels. */
export interface ForwardProxy extends AsyncDisposable {
  readonly url: string
  /** The targets so far, such as `CONNECT 127.0.0.1:3000`. */
  readonly targets: readonly string[]
}

/** Starts an HTTP proxy on a free local port. */
export async function startForwardProxy(): Promise<ForwardProxy> {
  const targets: string[] = []
  const server = createServer((incoming, response) => {
    const { method = '', url = '', headers } = incoming
    targets.push(`${method} ${url}`)
    const outgoing = sendRequest(url, { method, headers }, (received) => {
      received.pipe(response.writeHead(received.statusCode ?? 502, received.headers))
    })
    incoming.pipe(outgoing)
  })
  server.on('connect', ({ url = '' }, client) => {
    targets.push(`CONNECT ${url}`)
    const { hostname, port } = new URL(`http://${url}`)
    const upstream = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    for (const socket of [client, upstream]) socket.on('error', () => {})
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    targets,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}
