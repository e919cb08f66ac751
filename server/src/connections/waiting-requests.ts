/** A request in flight, and since when it waits for its client: then it gives way to others that find no room. */
import type { Socket } from 'node:net'
import type { Request, Response } from 'express'

/**
 * A request from its arrival until the operating system has taken its response.
 *
 * | mode | told by | what follows |
 * |---|---|---|
 * | worked on | a `client`, and nothing of the next two | it keeps its place, also if its connection closes |
 * | body arriving | the body is read, and is not complete | it gives way |
 * | unread | the client has not taken what is written | it gives way; after 40 s the connection is closed |
 * | shed, or gave way | no `client` | it is kept until its error is sent, or its connection has closed |
 * | done | the response has closed, and the server has responded | its place is released |
 */
export interface RequestInFlight {
  readonly request: Request
  readonly response: Response
  /** Its position among all. */
  index: number
  /** Whose place it has: an address or an account; undefined: it has none. */
  client: string | undefined
  /**
   * Since when the request is waiting, by `performance.now()`, and how many bytes of its connection the operating system
   * had taken then; undefined: it is not.
   */
  wait: { since: number; sentBytes: number } | undefined
}

/** How long a client may leave a part of a response unread, in milliseconds. */
const MAX_UNREAD = 40_000

/** Whether a part of a response waits for its client, also behind an earlier response. */
function waitsForReader({ response }: RequestInFlight): boolean {
  return response.writableLength > 0
}

/** Whether a body is being read, and has not arrived. */
function waitsForBody({ request }: RequestInFlight): boolean {
  return request.readableFlowing === true && !request.complete
}

/** Whether a request waits for its client. */
export function isWaiting(each: RequestInFlight): boolean {
  return waitsForReader(each) || waitsForBody(each)
}

/**
 * Ends a request whose connection has closed: Node.js closes only the response that has the connection, and after CONNECT
 * none. Closes a connection that is not read.
 */
export function endWithConnection(each: RequestInFlight, now: number): void {
  const { request, response, wait } = each
  if (waitsForReader(each) && wait && now - wait.since >= MAX_UNREAD) request.socket.destroy()
  if (request.socket.destroyed) response.destroy()
}

/** Notes since when a request is waiting: since the last time that the operating system took a part of a response. */
export function noteWaiting(noted: RequestInFlight, now: number): void {
  const sentBytes = isWaiting(noted) ? countSentBytes(noted.request.socket) : undefined
  if (sentBytes === noted.wait?.sentBytes) return
  noted.wait = sentBytes === undefined ? undefined : { since: now, sentBytes }
}

/**
 * Returns how many bytes of a connection the operating system has taken. `bytesWritten` of a socket counts a write at
 * its begin, and a long one is taken in parts, which only the handle of libuv counts, which is not documented.
 */
function countSentBytes({ _handle }: Socket & { _handle?: { bytesWritten: number; writeQueueSize: number } }): number {
  return _handle ? _handle.bytesWritten - _handle.writeQueueSize : 0
}
