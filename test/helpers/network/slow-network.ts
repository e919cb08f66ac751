import { setTimeout as sleep } from 'node:timers/promises'
import { type Link, startProxy } from './proxy.ts'

/** Starts a network between clients and PostgreSQL, on a port of this machine, whose responses take long when a test says so. */
export async function startSlowNetwork(port: number) {
  const sent = new WeakMap<Link, Promise<void>>()

  async function forward(bytes: Buffer, link: Link): Promise<void> {
    const before = sent.get(link)
    await sleep(network.delay)
    await before
    link.client.write(bytes)
  }

  const proxy = await startProxy({
    target: () => port,
    response(bytes, link) {
      sent.set(link, forward(bytes, link))
      return false
    },
  })
  const network = {
    /** How long each response takes, in milliseconds. */
    delay: 0,
    /** Returns the URL of a database behind it. */
    url: (database: string) => `postgresql://postgres@127.0.0.1:${proxy.port}/${database}`,
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  }
  return network
}
