import { EventEmitter } from 'node:events'
import fc from 'fast-check'
import { type Order, testOrders } from '../../../test/helpers/orders.ts'
import { createRequestsInFlight, type RequestsInFlight } from '../../src/connections/places.ts'
import type { RequestInFlight } from '../../src/connections/waiting-requests.ts'
import { events } from '../../src/telemetry/events.ts'

/** It reads nothing of it. */
const NEVER = Number.POSITIVE_INFINITY

const step = fc.record({
  address: fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3'),
  account: fc.constantFrom('alice', ''),
  /** Some get their response while their token is looked up, or lose their client while the server works on them. */
  kind: fc.constantFrom('usual', 'usual', 'usual', 'malformed', 'aborted'),
  /** After how many events its body is whole; after the largest number, the client disconnects. */
  chunks: fc.constantFrom(0, 0, 2, 12),
  /** After how many events the client has read the response */
  reads: fc.constantFrom(0, 0, 0, 0, 2, 9, NEVER),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
type Request = ReturnType<typeof createRequest>

/** Creates a request on a connection of its own, as Node.js shows both. */
function createRequest(order: Order, remoteAddress: string) {
  const response = Object.assign(new EventEmitter(), {
    closed: false,
    headersSent: false,
    writableLength: 0,
    close() {
      if (response.closed) return
      response.closed = true
      response.emit('close')
    },
    destroy: () => socket.destroy(),
    socket: {},
  })
  const socket = {
    remoteAddress,
    destroyed: false,
    destroy() {
      socket.destroyed = true
      void order.event('close').then(response.close)
    },
  }
  const request = { socket, readableFlowing: false, complete: false }
  return {
    request,
    response,
    client: undefined as string | undefined,
    inFlight: undefined as RequestInFlight | undefined,
    isAborted: false,
  }
}

const isDone = ({ response }: Request) => response.closed && response.headersSent
const isWaiting = ({ request, response }: Request) =>
  response.writableLength > 0 || (request.readableFlowing && !request.complete)
const hasGivenWay = ({ inFlight }: Request) => inFlight?.client === undefined
const sinceOf = ({ inFlight }: Request) => Number(inFlight?.wait?.since)
const CAPACITY = 5

testOrders('a place is released once, and only what waits for its client gives way', 2_000, step, (order, steps) => {
  const create = () => createRequestsInFlight({ maxRequestsInFlight: CAPACITY, trustProxy: undefined })
  const requests = create()
  const all: Request[] = []
  const holders = () => all.filter((each) => each.client !== undefined && !isDone(each))

  /** Whether there is no place for a client, and nothing gives way to it. */
  function isFull(client: string): boolean {
    const count = (name: string | undefined, list: Request[]) => list.filter((each) => each.client === name).length
    const [free, own] = [CAPACITY - holders().length, count(client, holders())]
    if (free > 0 && own < 8 * free) return false
    const waiting = holders().filter((each) => isWaiting(each) && !each.request.socket.destroyed)
    return waiting.every((other) =>
      other.client === client ? !client.startsWith(' ') : count(other.client, waiting) <= own + 1,
    )
  }

  function take(each: Request, client: string, ask: () => boolean): boolean {
    // Before these, the requests that wait are looked for again.
    const isLooking = client.endsWith('1')
    if (isLooking) order.pass(10_000)
    each.client = undefined
    const mayShed = !isLooking || isFull(client)
    const waiting = holders().filter((holder) => isWaiting(holder) && !holder.request.socket.destroyed)
    let isCounted = false
    const count = (reason: string) => {
      isCounted ||= reason === 'gave-way'
    }
    events.on('requestRejected', count)
    const hasPlace = ask()
    events.off('requestRejected', count)
    const [given, kept] = [waiting.filter(hasGivenWay), waiting.filter((other) => !hasGivenWay(other))]
    const isLonger = (one: Request, other: Request) => one.client === other.client && sinceOf(one) < sinceOf(other)
    const isLongest = given.every((gone) => !kept.some((other) => isLonger(other, gone)))
    order.expect(!isLooking || isLongest, 'what has waited longer stays')
    order.expect(given.length === 0 || isCounted, 'what gives way is not counted')
    order.expect(hasPlace || mayShed, `${client} is shed in vain`)
    if (hasPlace) each.client = client
    const busy = holders().filter((holder) => !isWaiting(holder))
    const [least, taken] = [busy.length, requests.count()]
    order.expect(taken >= least && taken <= CAPACITY, `${taken} places for ${least} requests that are worked on`)
    order.expect(
      busy.every(({ request, isAborted }) => isAborted || !request.socket.destroyed),
      'a request gave way',
    )
    return hasPlace
  }

  async function respond({ response }: Request, reads: number): Promise<void> {
    response.headersSent = true
    if (response.closed) return
    response.writableLength = 10
    for (let left = reads; left > 0 && !response.closed; left--) {
      if (reads === NEVER) order.pass(4_000)
      await order.event('read')
    }
    response.writableLength = 0
    response.close()
  }

  function abort(each: Request): void {
    each.isAborted = true
    each.request.socket.destroy()
  }

  async function serve({ address, account, kind, chunks, reads }: Step): Promise<void> {
    const each = createRequest(order, address)
    const { request, response } = each
    all.push(each)
    const add = () => {
      each.inFlight = requests.add(request as never, response as never)
      return each.inFlight !== undefined
    }
    if (!take(each, ` ${address}`, add)) return respond(each, reads)
    const early = kind === 'malformed' ? respond(each, reads) : undefined
    await order.event('token')
    if (!take(each, account, () => requests.countForAccount(each.inFlight as RequestInFlight, account)) || early) {
      return early ?? respond(each, reads)
    }
    request.readableFlowing = true
    for (let left = chunks; left > 0 && !response.closed; left--) await order.event('chunk')
    if (chunks === 12) abort(each)
    request.complete = !request.socket.destroyed
    if (kind === 'aborted') abort(each)
    await order.event('work')
    await respond(each, reads)
  }

  /** Returns how many requests of an address find a place. */
  function shareOf(address: string, of: RequestsInFlight): number {
    const added: Request[] = []
    do added.push(createRequest(order, address))
    while (of.add(added.at(-1)?.request as never, added.at(-1)?.response as never))
    for (const { response } of added) {
      response.headersSent = true
      response.close()
    }
    return added.length
  }

  order.steps(steps, (step) => order.client(serve(step), () => false))
  return async () => {
    order.expect(requests.count() === 0, `${requests.count()} places stay taken`)
    order.expect(order.timers() === 0, 'a timer stays')
    const share = shareOf('10.0.0.4', create())
    for (const address of new Set(steps.map((step) => step.address)))
      order.expect(shareOf(address, requests) === share, 'a share is lost')
  }
})
