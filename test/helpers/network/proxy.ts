import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket, connect as tcpConnect } from 'node:net'

/** A connection through a proxy. */
export interface Link {
  readonly client: Socket
  readonly server: Socket
  /** Ends both halves abruptly. */
  cut(): void
}

/** What a proxy does with what passes. */
export interface ProxyOptions {
  /** Returns the port that a new connection leads to. */
  target(): number
  /** Decides whether bytes of the client are forwarded. Default: all. */
  request?: (bytes: Buffer, link: Link) => boolean
  /** Decides whether bytes of the server are forwarded. Default: all. */
  response?: (bytes: Buffer, link: Link) => boolean
}

/** Starts a TCP proxy on a free port of this machine. */
export async function startProxy({ target, request, response }: ProxyOptions) {
  const links = new Set<Link>()

  const server: Server = createServer({ noDelay: true }, (client) => {
    client.on('error', () => {})
    const upstream = tcpConnect({ port: target(), host: '127.0.0.1', noDelay: true }).on('error', () => {})
    const link: Link = {
      client,
      server: upstream,
      cut() {
        client.resetAndDestroy()
        upstream.destroy()
      },
    }
    links.add(link)
    client.on('data', (bytes) => (request?.(bytes, link) ?? true) && upstream.write(bytes))
    upstream.on('data', (bytes) => (response?.(bytes, link) ?? true) && client.write(bytes))
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.once('close', () => {
        links.delete(link)
        to.destroy()
      })
    }
  })

  const cutAll = () => {
    for (const link of links) link.cut()
  }
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    cutAll,
    async [Symbol.asyncDispose]() {
      cutAll()
      await once(server.close(), 'close')
    },
  }
}
