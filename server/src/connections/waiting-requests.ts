/** The requests in flight that wait for their clients: they give way to others where no place is left. */
import type { Socket } from 'node:net'
import type { Request, Response } from 'express'
import { events } from '../telemetry/events.ts'

/**
 * A request from its arrival until the operating system has taken its response.
 *
 * | mode | told by | what follows |
 * |---|---|---|
 * | worked on | a `client`, and nothing of the next two | it keeps its place, also if its connection closes |
 * | body arriving | the body is read, and is not complete | it gives way |
 * | unread | the client has not taken what is written | it gives way; after 40 s the connection is closed |
 * | shed | no `client` | it is kept until its error is sent |
 * | done | the response has closed, and the server has responded | its place is released |
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

/** All requests in flight, and their places. */
interface AllRequests {
  readonly list: readonly RequestInFlight[]
  removeIfDone(each: RequestInFlight): void
  releasePlace(holder: RequestInFlight): void
  hasRoom(client: string): boolean
  takenBy(client: string): number
}

/** The requests that wait for their clients, and give way. */
interface WaitingRequests {
  /** Removes the requests that are done, and notes the waiting ones of each client. */
  scan(now: number): void
  /**
   * Makes room for a client. It removes what is done. If that is not enough, it ends the request that has waited longest,
   * of the client with most waiting requests, if these are more than all requests of this client. If they are not, an
   * address gives up a waiting request of its own, and an account gets no room.
   *
   * @returns whether there is room now
   */
  makeRoom(client: string): boolean
}

/** Begins the name of a client that is an address: that of no account does. */
export const ADDRESS = ' '
/** How long a client may leave a part of a response unread, in milliseconds. */
const MAX_UNREAD = 40_000
/** How long a scan is used, in milliseconds: one takes about 0.1 ms. */
const SCAN_INTERVAL = 5

/** Finds the waiting requests among all. */
export function createWaitingRequests(all: AllRequests): WaitingRequests {
  let nextScan = 0
  /** The requests of each client that waited for it at the last scan: at the end, the one that has waited longest. */
  let waiting = new Map<string, RequestInFlight[]>()

  function scan(now: number): void {
    for (const each of [...all.list]) {
      endWithConnection(each, now)
      all.removeIfDone(each)
      noteWaiting(each, now)
    }
    const sorted = all.list
      .filter(({ waitsSince, client }) => waitsSince !== undefined && client !== undefined)
      .sort((one, other) => Number(one.waitsSince) - Number(other.waitsSince))
      .reverse()
    waiting = Map.groupBy(sorted, ({ client }) => client as string)
  }

  /** Returns the waiting request that gives way to another one of a client; undefined: none does. */
  function findLongest(client: string): RequestInFlight | undefined {
    let [most, count] = [client.startsWith(ADDRESS) ? client : '', all.takenBy(client) + 1]
    for (const [other, { length }] of waiting) if (length > count) [most, count] = [other, length]
    const queue = waiting.get(most) ?? []
    let longest = queue.pop()
    // It has got its response since, or counts for its account.
    while (longest && longest.client !== most) longest = queue.pop()
    return longest
  }

  return {
    scan,

    makeRoom(client) {
      const now = performance.now()
      if (now >= nextScan) {
        scan(now)
        nextScan = now + SCAN_INTERVAL
        if (all.hasRoom(client)) return true
      }
      const longest = findLongest(client)
      if (!longest) return false
      const { socket } = longest.request
      // The others of its connection, which are pipelined, end with it.
      for (const each of all.list) {
        if (each.request.socket === socket && each.waitsSince !== undefined) all.releasePlace(each)
      }
      socket.destroy()
      events.emit('requestRejected', 'gave-way')
      return true
    },
  }
}

/** Whether a part of a response waits for its client, also behind an earlier response. */
function isUnread({ response }: RequestInFlight): boolean {
  return response.writableLength > 0
}

/** Whether a body is being read, and has not arrived. */
function isArriving({ request }: RequestInFlight): boolean {
  return request.readableFlowing === true && !request.complete
}

/**
 * Ends a request whose connection has closed: Node.js closes only the response that has the connection, and after CONNECT
 * none. Closes a connection that is not read.
 */
function endWithConnection(each: RequestInFlight, now: number): void {
  const { request, response, waitsSince = now } = each
  if (isUnread(each) && now - waitsSince >= MAX_UNREAD) request.socket.destroy()
  if (request.socket.destroyed) response.destroy()
}

/** Notes since when a request is waiting: since the last time that the operating system took a part of a response. */
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
