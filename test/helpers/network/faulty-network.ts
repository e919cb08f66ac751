import { type Link, startProxy } from './proxy.ts'

/** When a connection is cut: before a message reaches the server, while it is handled, or in place of its response. */
export type Moment = 'before' | 'during' | 'after'

/** A network between clients and PostgreSQL that fails when a test says so. */
export interface FaultyNetwork extends AsyncDisposable {
  /** Returns the URL of a database behind it. */
  url(database: string): string
  /** Cuts the connection of the next message that contains a text, once. Resolves when that has happened. */
  cutOnce(moment: Moment, text: string): Promise<void>
  /** Cuts all connections. */
  cutAll(): void
  /** Loses everything that is sent in either direction, on open connections and on new ones. */
  stall(): void
  /** Ends {@link stall} for new connections. Those that lost something stay silent. */
  resume(): void
  /** Leads new connections to another port. */
  lead(port: number): void
}

/** Starts a network that leads to a port of this machine. */
export async function startFaultyNetwork(port: number): Promise<FaultyNetwork> {
  let target = port
  let stalled = false
  let fault: { moment: Moment; text: string; done(): void } | undefined
  const silent = new WeakSet<Link>()
  const answerless = new WeakSet<Link>()

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

    response(_bytes, link) {
      if (stalled) silent.add(link)
      if (answerless.has(link)) link.cut()
      return !silent.has(link) && !answerless.has(link)
    },
  })

  return {
    url: (database) => `postgresql://postgres@127.0.0.1:${proxy.port}/${database}`,
    cutOnce: (moment, text) =>
      new Promise((resolve) => {
        fault = { moment, text, done: resolve }
      }),
    cutAll: proxy.cutAll,
    stall() {
      stalled = true
    },
    resume() {
      stalled = false
    },
    lead(newTarget) {
      target = newTarget
    },
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  }
}
