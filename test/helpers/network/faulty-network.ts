import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** When a connection is cut: before a message reaches the server, while it is handled, or in place of its response. */
export type Moment = 'before' | 'during' | 'after'

/** Starts a network that leads to a port of this machine, and fails when a test says so. */
export async function startFaultyNetwork(port: number) {
  const open = new Set<() => void>()
  let target = port
  let stalled = false
  let fault: { moment: Moment; text: string; done(): void } | undefined

  /** Leads a connection of a client to the server. */
  function link(client: Socket): void {
    const server = connect({ port: target, host: '127.0.0.1', noDelay: true })
    let isSilent = false
    let isAnswerless = false
    /** Ends both halves abruptly. */
    const cut = () => {
      client.resetAndDestroy()
      server.destroy()
    }
    open.add(cut)
    client.on('data', (bytes) => {
      isSilent ||= stalled
      if (isSilent) return
      if (!fault || !bytes.includes(fault.text)) {
        server.write(bytes)
        return
      }
      const { moment, done } = fault
      fault = undefined
      done()
      isAnswerless = moment === 'after'
      if (moment === 'before') cut()
      else server.write(bytes, () => moment === 'during' && cut())
    })
    server.on('data', (bytes) => {
      isSilent ||= stalled
      if (isAnswerless) cut()
      else if (!isSilent) client.write(bytes)
    })
    for (const [from, to] of [[client, server] as const, [server, client] as const]) {
      from
        .on('error', () => {})
        .once('close', () => {
          open.delete(cut)
          to.destroy()
        })
    }
  }

  const cutAll = () => {
    for (const cut of open) cut()
  }
  const listener = createServer({ noDelay: true }, link)
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  const { port: ownPort } = listener.address() as AddressInfo

  return {
    /** Returns the URL of a database behind it. */
    url: (database: string) => `postgresql://postgres@127.0.0.1:${ownPort}/${database}`,
    /** Cuts the connection of the next message that contains a text, once. Resolves when that has happened. */
    cutOnce: (moment: Moment, text: string) =>
      new Promise<void>((resolve) => {
        fault = { moment, text, done: resolve }
      }),
    /** Cuts all connections. */
    cutAll,
    /** Loses everything that is sent in either direction, on open connections and on new ones. */
    stall() {
      stalled = true
    },
    /** Ends `stall` for new connections. Those that lost something stay silent. */
    resume() {
      stalled = false
    },
    /** Leads new connections to another port. */
    lead(newTarget: number) {
      target = newTarget
    },
    async [Symbol.asyncDispose]() {
      cutAll()
      await once(listener.close(), 'close')
    },
  }
}
