import type { Request, Response } from 'express'
import type { Settings } from '../settings.ts'
import { requestRejected } from '../telemetry/events.ts'
import { addressKey, clientAddress } from './client-address.ts'
import { countTaken } from './connections.ts'
import { shed } from './errors.ts'
import { createFairShare } from './fair-share.ts'

declare global {
  namespace Express {
    interface Request {
      /** Its place among the requests in flight. */
      slot: Slot
    }
  }
}

/** How long a client may leave a part of a response unread, in milliseconds. */
const MAX_UNREAD = 40_000
/** How often unread responses are looked for, in milliseconds. */
const CHECK_INTERVAL = 1_000
/** How long no other scan is made for a client that the last one had nothing for, in milliseconds: one takes about 0.1 ms. */
const SCAN_INTERVAL = 5

/** A request from its begin until the operating system has taken its response. */
interface Slot {
  readonly request: Request
  readonly response: Response
  /** Where it is among all slots. */
  index: number
  /** The address or the account that holds it; undefined: the request was shed. */
  client: string | undefined
  /** Since when it waits for its client; undefined: the server works on it. */
  waitsSince: number | undefined
  /** How many bytes of its connection the operating system had taken then. */
  taken: number
}

/**
 * Limits the requests in flight, and so the memory of the process, since each takes at most a fixed amount. Addresses, and
 * then accounts, share the limit; what is beyond it is shed early, because a late response is useless and delays others.
 *
 * What waits for its client gives way: where no slot is left, a client that holds few gets that of the request that has
 * waited longest for its client (a body that arrives, a response that is not read), of the client with most of these.
 *
 * What is behind another request on its connection takes at most half of all slots: it does not give way, and hundreds of these
 * arrive at once, which are counted for their address until their account is known.
 */
export function createRequestsInFlight(settings: Pick<Settings, 'maxRequestsInFlight' | 'trustProxy'>) {
  const { maxRequestsInFlight, trustProxy } = settings
  const share = createFairShare(maxRequestsInFlight)
  /** Also those of requests that were shed, until they have their response. */
  const slots: Slot[] = []
  let timer: NodeJS.Timeout | undefined
  let nextScan = 0
  /** How many requests of one client waited for it at the last scan, at most. */
  let mostWaiting = 0

  function release(slot: Slot): void {
    if (slot.client !== undefined) share.release(slot.client)
    slot.client = undefined
  }

  function remove(slot: Slot): void {
    release(slot)
    const last = slots.pop()
    if (last === undefined || last === slot) return
    slots[slot.index] = last
    last.index = slot.index
  }

  function hold(slot: Slot, client: string): void {
    // What could not be parsed has its response while its token is looked up; nothing would release it any more.
    if (isDone(slot)) return
    const isBehind = !slot.response.socket
    const isFull = isBehind && share.used() >= maxRequestsInFlight / 2
    if (!isFull && (share.hasRoom(client) || giveWay(client))) {
      share.take(client)
      slot.client = client
      return
    }
    // Its response would wait in memory for those to earlier requests.
    if (isBehind) slot.request.socket.destroy()
    // A random time, so that clients that were rejected together do not retry together.
    const seconds = 1 + Math.floor(Math.random() * 3)
    throw shed('in-flight', 'The server has more requests than it can handle. Retry later.', seconds)
  }

  /** Removes what is done, and returns what waits for its client, by the client that holds it. */
  function scan(now: number): Map<string, Slot[]> {
    const waiting = new Map<string, Slot[]>()
    for (const slot of [...slots]) {
      if (isDone(slot)) remove(slot)
      noteWaiting(slot, now)
      if (slot.waitsSince === undefined || slot.client === undefined) continue
      const own = waiting.get(slot.client)
      if (own) own.push(slot)
      else waiting.set(slot.client, [slot])
    }
    return waiting
  }

  /** Ends a request that waits for its client, unless `client` holds about as many as any other has of these. */
  function giveWay(client: string): boolean {
    const now = performance.now()
    if (now < nextScan && mostWaiting <= share.heldBy(client) + 1) return false
    nextScan = now + SCAN_INTERVAL
    const waiting = [...scan(now).values()]
    const most = waiting.reduce((one, other) => (other.length > one.length ? other : one), [])
    mostWaiting = most.length
    if (share.hasRoom(client)) return true
    if (mostWaiting <= share.heldBy(client) + 1) return false
    const longest = most.reduce((one, other) => (Number(other.waitsSince) < Number(one.waitsSince) ? other : one))
    release(longest)
    longest.request.socket.destroy()
    requestRejected.publish('gave-way')
    return true
  }

  function check(): void {
    const now = performance.now()
    scan(now)
    for (const slot of slots) {
      const { waitsSince = now, request } = slot
      if (isUnread(slot) && now - waitsSince >= MAX_UNREAD) request.socket.destroy()
    }
    if (slots.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    /** Adds a request that has begun, so that its client is disconnected if it leaves the response unread. */
    add(request: Request, response: Response): void {
      const slot = { request, response, index: slots.length, client: undefined, waitsSince: undefined, taken: 0 }
      request.slot = slot
      slots.push(slot)
      timer ??= setInterval(check, CHECK_INTERVAL).unref()
      response.once('close', () => {
        // Without a response yet, the server still works on it; a scan removes it later.
        if (isDone(slot)) remove(slot)
      })
    },

    /**
     * Counts a request for its address, until its response is sent.
     *
     * @throws HttpError `unavailable` if the address has its share of requests in flight
     */
    countForAddress(request: Request): void {
      const address = trustProxy === undefined ? request.socket.remoteAddress : clientAddress(request)
      // No account begins with a space.
      hold(request.slot, ` ${addressKey(address)}`)
    },

    /**
     * Counts a request for its account instead, once that is known.
     *
     * @throws HttpError `unavailable` if the account has its share of requests in flight
     */
    countForAccount({ slot, identity }: Pick<Request, 'slot' | 'identity'>): void {
      release(slot)
      hold(slot, identity.account)
    },

    /** How many requests are in flight. */
    count: share.used,
  }
}

/** Whether nothing of a request is in memory any more: its client is gone, or has everything, and the server has responded. */
function isDone({ response }: Slot): boolean {
  return response.closed && (response.headersSent || response.writableEnded)
}

/** Whether a part of a response waits for its client. Node.js gives a connection to one of its responses at a time. */
function isUnread({ response }: Slot): boolean {
  return response.socket !== null && response.writableLength > 0
}

/** Whether a body is being read, and has not arrived. */
function isArriving({ request, response }: Slot): boolean {
  return response.socket !== null && request.readableFlowing === true && !request.complete
}

/** Notes since when a request waits for its client: since the last time that the operating system took something. */
function noteWaiting(slot: Slot, now: number): void {
  if (!isUnread(slot) && !isArriving(slot)) {
    slot.waitsSince = undefined
    return
  }
  const taken = countTaken(slot.request.socket)
  if (slot.waitsSince === undefined || slot.taken !== taken) slot.waitsSince = now
  slot.taken = taken
}
