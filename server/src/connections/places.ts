/** The places of a limit that clients share, and the requests in flight, each of which takes one. */
import assert from 'node:assert/strict'
import { isIP, SocketAddress } from 'node:net'
import type { Request, Response } from 'express'
import type { Settings } from '../settings.ts'
import { events } from '../telemetry/events.ts'
import { endWithConnection, isWaiting, noteWaiting, type RequestInFlight } from './waiting-requests.ts'

/** A client may have so many times what is free. */
const FACTOR = 8
/** Up to so many clients that have no place are kept. */
const MIN_SWEEP = 1_000
/** Begins the name of a client that is an address: that of no account does. */
const ADDRESS = ' '
/** How often unread responses are looked for, in milliseconds. */
const CHECK_INTERVAL = 1_000
/** How long a scan of all requests is used, in milliseconds: one takes about 0.1 ms. */
const SCAN_INTERVAL = 5
/** What some proxies write into `X-Forwarded-For`: `192.0.2.7:4711` or `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/

/** Places that clients share. */
export interface Places {
  /** Returns whether a client may take another place. One that has none may take the last. */
  hasRoom(client: string): boolean
  take(client: string): void
  release(client: string): void
  /** Returns how many places a client has. */
  takenBy(client: string): number
  /** Returns how many places all clients have. */
  taken(): number
}

/**
 * Creates places that clients share, such as those of connections.
 *
 * A client may have eight times what is free, so that one alone never takes everything: it gets 889 of 1,000. The more
 * clients have, the less each may have. This is the dynamic threshold of shared-memory switches (Choudhury and Hahne,
 * 1998): it needs no list of clients and no division in advance.
 */
export function createPlaces(capacity: number): Places {
  const byClient = new Map<string, number>()
  let taken = 0
  let maxSize = MIN_SWEEP

  /**
   * Removes clients that have no place. Not each immediately: a Map that one key is added to and deleted from with every
   * request makes a new table every few requests, and once an old table is in V8's old generation, it keeps all later
   * ones alive, until a collection of the whole heap stops the process for 10 ms, twice a second.
   */
  function sweep(): void {
    for (const [client, count] of byClient) if (count === 0) byClient.delete(client)
    maxSize = Math.max(MIN_SWEEP, 2 * byClient.size)
  }

  function takenBy(client: string): number {
    return byClient.get(client) ?? 0
  }

  return {
    hasRoom(client) {
      const free = capacity - taken
      const mine = takenBy(client)
      return free > 0 && (mine === 0 || mine < FACTOR * free)
    },
    take(client) {
      assert(taken < capacity, 'a place is taken only where one is free')
      taken++
      byClient.set(client, takenBy(client) + 1)
      if (byClient.size > maxSize) sweep()
    },
    release(client) {
      assert(takenBy(client) > 0, 'a place is released once')
      taken--
      byClient.set(client, takenBy(client) - 1)
    },
    takenBy,
    taken: () => taken,
  }
}

/** The requests in flight of a server. */
export interface RequestsInFlight {
  /**
   * Adds a request that has arrived, and counts it for its address until its response is sent.
   *
   * @returns what {@link countForAccount} takes; undefined: its address has its share, and it is shed
   */
  add(request: Request, response: Response): RequestInFlight | undefined
  /**
   * Counts a request for its account instead, once that is known.
   *
   * @returns false: the account has its share, and the request is shed
   */
  countForAccount(inFlight: RequestInFlight, account: string): boolean
  /** Returns how many requests are in flight. */
  count(): number
}

/**
 * Limits the requests in flight, and so the memory of the process, since each takes at most a fixed
 * amount. Addresses, and then accounts, share the limit; what is beyond it is shed early, because a late
 * response is useless and delays others.
 *
 * Waiting requests give way: where a client finds no room, since all places are taken or it has its share, it gets the
 * place of the request that has waited longest, of the client with most waiting requests. Those of an address give way
 * to its own others too: the others behind a proxy must not wait for one visitor. An account is one client, which has
 * to read its responses.
 */
export function createRequestsInFlight({
  maxRequestsInFlight,
  trustProxy,
}: Pick<Settings, 'maxRequestsInFlight' | 'trustProxy'>): RequestsInFlight {
  const places = createPlaces(maxRequestsInFlight)
  /** Also shed requests, until they have their response. */
  const list: RequestInFlight[] = []
  /** The requests of each client that waited for it at the last scan: first, the one that has waited longest. */
  let waiting = new Map<string, RequestInFlight[]>()
  let nextScan = 0
  let timer: NodeJS.Timeout | undefined

  /** Takes a place for an address or an account. */
  function takePlace(taker: RequestInFlight, client: string): boolean {
    // Its body may have proved malformed while its token was looked up: it has its response, and nothing would release
    // its place.
    if (isDone(taker)) return true
    if (places.hasRoom(client) || makeRoom(client)) {
      assert(taker.client === undefined, 'a request has one place')
      places.take(client)
      taker.client = client
      return true
    }
    events.emit('requestRejected', 'in-flight')
    const { response, request } = taker
    // The response to a pipelined request would wait in memory for those to earlier ones.
    if (!response.socket) request.socket.destroy()
    return false
  }

  function releasePlace(holder: RequestInFlight): void {
    if (holder.client !== undefined) places.release(holder.client)
    holder.client = undefined
  }

  function removeIfDone(removed: RequestInFlight): void {
    // Removed before, its position is that of another one.
    if (!isDone(removed) || list[removed.index] !== removed) return
    releasePlace(removed)
    const last = list.pop() ?? removed
    last.index = removed.index
    if (last !== removed) list[removed.index] = last
  }

  /** Removes the requests that are done, and notes the waiting ones of each client. */
  function scan(now: number): void {
    const holders = list.filter(({ client }) => client !== undefined)
    assert(holders.length === places.taken(), 'each place is that of a request')
    for (const each of [...list]) {
      endWithConnection(each, now)
      removeIfDone(each)
      noteWaiting(each, now)
    }
    const sorted = list
      .filter(({ wait, client }) => wait && client !== undefined)
      .sort((one, other) => Number(one.wait?.since) - Number(other.wait?.since))
    waiting = Map.groupBy(sorted, ({ client }) => client as string)
  }

  /**
   * Makes room for a client. It removes what is done. If that is not enough, it ends the request that has waited
   * longest, of the client with most waiting requests, if these are more than all of this client with the new one. If
   * they are not, an address gives up a waiting request of its own, and an account gets no room.
   *
   * @returns whether there is room now
   */
  function makeRoom(client: string): boolean {
    const now = performance.now()
    if (now >= nextScan) {
      scan(now)
      nextScan = now + SCAN_INTERVAL
      if (places.hasRoom(client)) return true
    }
    const longest = findLongest(client)
    if (!longest) return false
    const { socket } = longest.request
    // The others of its connection, which are pipelined, end with it.
    for (const each of list) if (each.request.socket === socket && isWaiting(each)) releasePlace(each)
    socket.destroy()
    events.emit('requestRejected', 'gave-way')
    return true
  }

  /** Returns the waiting request that gives way to another one of a client; undefined: none does. */
  function findLongest(client: string): RequestInFlight | undefined {
    let [most, count] = [client.startsWith(ADDRESS) ? client : '', places.takenBy(client) + 1]
    for (const [other, { length }] of waiting) if (length > count) [most, count] = [other, length]
    const queue = waiting.get(most) ?? []
    let longest = queue.shift()
    // Since then, it has got its response, or counts for its account, or the server works on it.
    while (longest && (longest.client !== most || !isWaiting(longest))) longest = queue.shift()
    return longest
  }

  function check(): void {
    scan(performance.now())
    if (list.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    add(request, response) {
      const added = { request, response, index: list.length, client: undefined, wait: undefined }
      list.push(added)
      timer ??= setInterval(check, CHECK_INTERVAL).unref()
      response.once('close', () => {
        removeIfDone(added)
        // One that waits for its body gets its response in this turn. Of another, which the server works on, a scan finds it.
        if (added.client !== undefined) setImmediate(() => removeIfDone(added))
      })
      const address = trustProxy === undefined ? request.socket.remoteAddress : clientAddress(request)
      return takePlace(added, ADDRESS + addressKey(address)) ? added : undefined
    },

    countForAccount(inFlight, account) {
      releasePlace(inFlight)
      return takePlace(inFlight, account)
    },

    count: places.taken,
  }
}

/** Whether a request is done: the server has responded, and the client has everything or is gone. */
function isDone({ response }: RequestInFlight): boolean {
  return response.closed && (response.headersSent || response.writableEnded)
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

/**
 * Names the client behind an address: an IPv4 address, or the first half of an IPv6 address, since one customer of a
 * provider may use all of the other half.
 *
 * @param address as Node.js writes it, which is always the same way
 */
export function addressKey(address = 'unknown'): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)|%.*$/g, '')
  if (!bare.includes(':')) return bare
  const groups = bare.split(':').filter(Boolean)
  const whole = bare.replace('::', `:${'0:'.repeat(8 - groups.length)}`)
  return `${whole.split(':').filter(Boolean).slice(0, 4).join(':')}::/64`
}
