import { setTimeout as sleep } from 'node:timers/promises'
import { type Link, startProxy } from './proxy.ts'

/** When a connection is cut: before a message reaches the server, while it is handled, or in place of its response. */
export type Moment = 'before' | 'during' | 'after'

/** Starts a network that leads to a port of this machine, and fails when a test says so. */
export async function startFaultyNetwork(port: number) {
  let target = port
  let stalled = false
  let fault: { moment: Moment; text: string; done(): void } | undefined
  const silent = new WeakSet<Link>()
  const answerless = new WeakSet<Link>()
  const sent = new WeakMap<Link, Promise<void>>()

  /** Sends bytes of the server to the client, after those before them. */
  async function forward(bytes: Buffer, link: Link): Promise<void> {
    const before = sent.get(link)
    if (network.delay > 0) await sleep(network.delay)
    await before
    link.client.write(bytes)
  }

  const proxy = await startProxy({
    target: () => target,

    request(bytes, link) {
      if (stalled) silent.add(link)
      if (silent.has(link)) return false
      if (!fault || !bytes.includes(fault.text)) return true
      const { moment, done } = fault
      fault = undefined
      done()
      if (moment === 'after') answerless.add(link)
      else if (moment === 'before') link.cut()
      else link.server.write(bytes, () => link.cut())
      return moment === 'after'
    },

    response(bytes, link) {
      if (stalled) silent.add(link)
      if (answerless.has(link)) link.cut()
      else if (!silent.has(link)) sent.set(link, forward(bytes, link))
      return false
    },
  })

  const network = {
    /** How long each response takes, in milliseconds. */
    delay: 0,
    /** Returns the URL of a database behind it. */
    url: (database: string) => `postgresql://postgres@127.0.0.1:${proxy.port}/${database}`,
    /** Cuts the connection of the next message that contains a text, once. Resolves when that has happened. */
    cutOnce: (moment: Moment, text: string) =>
      new Promise<void>((resolve) => {
        fault = { moment, text, done: resolve }
      }),
    /** Cuts all connections. */
    cutAll: proxy.cutAll,
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
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  }
  return network
}
