import { isIP, type Socket, SocketAddress } from 'node:net'
import type { Request, Response } from 'express'
import { addressKey, createPlaces, type Places } from '../connections/places.ts'
import type { Settings } from '../settings.ts'
import { events } from '../telemetry/events.ts'
import { unavailable } from './errors.ts'

/** How long a client may leave a part of a response unread, in milliseconds. */
const MAX_UNREAD = 40_000
/** How often unread responses are looked for, in milliseconds. */
const CHECK_INTERVAL = 1_000
/**
 * How long no other scan is made for a client that the last one had nothing for, in
 * milliseconds: one takes about 0.1 ms.
 */
const SCAN_INTERVAL = 5

/** Begins the name of a client that is an address: that of no account does. */
const ADDRESS = ' '

/** What some proxies write into `X-Forwarded-For`: `192.0.2.7:4711` or `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/

/**
 * A request from its beginning until the operating system has taken its response. The server works on it, or it waits for
 * its client, which sends the body or reads the response: then it gives way to others. One that is shed has no place, and
 * is kept until its error is sent.
 */
export interface RequestInFlight {
  readonly request: Request
  readonly response: Response
  /** Its position among all. */
  index: number
  /** Whose place it has: an address or an account; undefined: it has none. */
  client: string | undefined
  /** Since when the request is waiting, by `performance.now()`; undefined: it is not. */
  waitsSince: number | undefined
  /** How many bytes of the connection the operating system had taken then. */
  sentBytes: number
}

/** The requests in flight of a server. */
export interface RequestsInFlight {
  /** Adds a request that has begun, so that its client is disconnected if it leaves the response unread. */
  add(request: Request, response: Response): void
  /**
   * Counts a request for its address, until its response is sent.
   *
   * @throws {HttpError} `unavailable` if the address has its share of requests in flight
   */
  countForAddress(request: Request): void
  /**
   * Counts a request for its account instead, once that is known.
   *
   * @throws {HttpError} `unavailable` if the account has its share of requests in flight
   */
  countForAccount(request: Pick<Request, 'inFlight' | 'identity'>): void
  /** Returns how many requests are in flight. */
  count(): number
}

/**
 * Limits the requests in flight, and so the memory of the process, since each takes at most a fixed
 * amount. Addresses, and then accounts, share the limit; what is beyond it is shed early, because a late
 * response is useless and delays others.
 *
 * Waiting requests give way: where no place is left, a client with few requests gets the place of the request that has
 * waited longest, of the client with most waiting requests. Those of an address give way to its own others too: whoever is
 * behind the same proxy must not wait for one visitor. An account is one client, which has to read its responses.
 *
 * Requests behind another one on their connection take at most half of all places: they do not give way, and hundreds
 * of them arrive together, which are counted for their address until their account is known.
 */
export function createRequestsInFlight({
  maxRequestsInFlight,
  trustProxy,
}: Pick<Settings, 'maxRequestsInFlight' | 'trustProxy'>): RequestsInFlight {
  const places = createPlaces(maxRequestsInFlight)
  /** Also shed requests, until they have their response. */
  const all: RequestInFlight[] = []
  const waiting = createWaitingRequests(all, places)
  let timer: NodeJS.Timeout | undefined

  /** Takes a place for an address or an account, or throws `unavailable`. */
  function takePlace(taker: RequestInFlight, client: string): void {
    // What could not be parsed has its response while its token is looked up; nothing would release it any more.
    if (isDone(taker)) return
    const isBehind = !taker.response.socket
    const isFull = isBehind && places.taken() >= maxRequestsInFlight / 2
    if (!isFull && (places.hasRoom(client) || waiting.makeRoom(client))) {
      places.take(client)
      taker.client = client
      return
    }
    // Its response would wait in memory for those to earlier requests.
    if (isBehind) taker.request.socket.destroy()
    // A random time, so that clients that were rejected together do not retry together.
    const seconds = 1 + Math.floor(Math.random() * 3)
    events.emit('requestRejected', 'in-flight')
    throw unavailable('The server has more requests than it can handle. Retry later.', seconds)
  }

  function disconnectUnread(): void {
    const now = performance.now()
    waiting.scan(now)
    for (const each of all) {
      const { waitsSince = now, request } = each
      if (isUnread(each) && now - waitsSince >= MAX_UNREAD) request.socket.destroy()
    }
    if (all.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    add(request, response) {
      const added = { request, response, index: all.length, client: undefined, waitsSince: undefined, sentBytes: 0 }
      request.inFlight = added
      all.push(added)
      timer ??= setInterval(disconnectUnread, CHECK_INTERVAL).unref()
      response.once('close', () => {
        // Without a response yet, the server still works on it; a scan removes it later.
        if (isDone(added)) remove(all, places, added)
      })
    },

    countForAddress(request) {
      const address = trustProxy === undefined ? request.socket.remoteAddress : clientAddress(request)
      takePlace(request.inFlight, ADDRESS + addressKey(address))
    },

    countForAccount({ inFlight, identity }) {
      releasePlace(places, inFlight)
      takePlace(inFlight, identity.account)
    },

    count: places.taken,
  }
}

function releasePlace(places: Places, holder: RequestInFlight): void {
  if (holder.client !== undefined) places.release(holder.client)
  holder.client = undefined
}

function remove(all: RequestInFlight[], places: Places, removed: RequestInFlight): void {
  // Removed before, its position is that of another one.
  if (all[removed.index] !== removed) return
  releasePlace(places, removed)
  const last = all.pop() ?? removed
  last.index = removed.index
  if (last !== removed) all[removed.index] = last
}

/** The requests that wait for their clients, and give way. */
interface WaitingRequests {
  /** Removes the requests that are done, and notes the waiting ones of each client. */
  scan(now: number): void
  /**
   * Makes room for a client: removes what is done or, if that is not enough, ends a waiting request of the client with
   * most of them, unless this client has about as many requests; then, one of its own address.
   *
   * @returns whether there is room now
   */
  makeRoom(client: string): boolean
}

/** Creates what finds the waiting requests among all. */
function createWaitingRequests(all: RequestInFlight[], places: Places): WaitingRequests {
  let nextScan = 0
  /** Whether the last scan found nothing that gives way. */
  let wasFutile = false
  /** The requests of each client that waited for it at the last scan: at the end, the one that has waited longest. */
  let waiting = new Map<string, RequestInFlight[]>()

  function scan(now: number): void {
    for (const each of [...all]) {
      if (isDone(each)) remove(all, places, each)
      noteWaiting(each, now)
    }
    const sorted = all
      .filter(({ waitsSince, client }) => waitsSince !== undefined && client !== undefined)
      .sort((one, other) => Number(one.waitsSince) - Number(other.waitsSince))
      .reverse()
    waiting = Map.groupBy(sorted, ({ client }) => client as string)
  }

  /** Whose waiting request gives way to another one of a client; undefined: nobody's. */
  function chooseWaiting(client: string): string | undefined {
    let [most, count] = [client, places.takenBy(client) + 1]
    for (const [other, { length }] of waiting) if (length > count) [most, count] = [other, length]
    return most === client && !isAddress(client) ? undefined : most
  }

  /** Returns the waiting request that gives way to another one of a client; undefined: none does. */
  function findLongest(client: string): RequestInFlight | undefined {
    const most = chooseWaiting(client)
    const queue = waiting.get(most ?? '') ?? []
    let longest = queue.pop()
    // It has got its response since, or counts for its account.
    while (longest && longest.client !== most) longest = queue.pop()
    return longest
  }

  return {
    scan,

    makeRoom(client) {
      const now = performance.now()
      let longest = now < nextScan ? findLongest(client) : undefined
      if (!longest && (now >= nextScan || !wasFutile)) {
        scan(now)
        nextScan = now + SCAN_INTERVAL
        if (places.hasRoom(client)) return true
        longest = findLongest(client)
        wasFutile = longest === undefined
      }
      if (!longest) return false
      releasePlace(places, longest)
      longest.request.socket.destroy()
      events.emit('requestRejected', 'gave-way')
      return true
    },
  }
}

function isAddress(client: string): boolean {
  return client.startsWith(ADDRESS)
}

/**
 * Returns the address of a client as a trusted proxy reports it, without the port that each of its connections has, or
 * else that of the connection: a client may send any text. It is always a short text of its own, since V8 keeps the
 * whole header in memory for a part of it.
 */
function clientAddress({ ip = '', socket }: Request): string | undefined {
  if (ip === socket.remoteAddress) return ip
  const [, inBrackets, version4] = WITH_PORT.exec(ip) ?? []
  const address = inBrackets ?? version4 ?? ip
  const version = isIP(address)
  if (version === 0) return socket.remoteAddress
  return new SocketAddress({ address, family: version === 4 ? 'ipv4' : 'ipv6' }).address
}

/** Whether a request is done: the server has responded, and the client has everything or is gone. */
function isDone({ response }: RequestInFlight): boolean {
  return response.closed && (response.headersSent || response.writableEnded)
}

/** Whether a part of a response waits for its client. Node.js gives a connection to one of its responses at a time. */
function isUnread({ response }: RequestInFlight): boolean {
  return response.socket !== null && response.writableLength > 0
}

/** Whether a body is being read, and has not arrived. */
function isArriving({ request, response }: RequestInFlight): boolean {
  return response.socket !== null && request.readableFlowing === true && !request.complete
}

/** Notes since when a request is waiting: since the last time that the operating system took a part of its response. */
function noteWaiting(noted: RequestInFlight, now: number): void {
  if (!isUnread(noted) && !isArriving(noted)) {
    noted.waitsSince = undefined
    return
  }
  const sentBytes = countSentBytes(noted.request.socket)
  if (noted.waitsSince === undefined || noted.sentBytes !== sentBytes) noted.waitsSince = now
  noted.sentBytes = sentBytes
}

/**
 * Returns how many bytes of a connection the operating system has taken. `bytesWritten` of a socket counts a write at
 * its begin, and a long one is taken in parts, which only the handle of libuv counts, which is not documented.
 */
function countSentBytes({ _handle }: Socket & { _handle?: { bytesWritten: number; writeQueueSize: number } }): number {
  return _handle ? _handle.bytesWritten - _handle.writeQueueSize : 0
}
