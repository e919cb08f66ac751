import type { Socket } from 'node:net'
import type { Request } from 'express'
import { shed } from '../../http-error.ts'
import { addressKey, clientAddress } from '../../limits/client-address.ts'
import { createFairShare } from '../../limits/fair-share.ts'
import type { Settings } from '../../settings.ts'

/**
 * Sheds requests early, because a late response is useless and delays others.
 *
 * A response that only waits for its client to read it is not in flight, so that slow readers do not keep others out.
 */
export function createLoadShedding(settings: Pick<Settings, 'maxRequestsInFlight' | 'trustProxy'>) {
  const { maxRequestsInFlight, trustProxy } = settings
  const share = createFairShare(maxRequestsInFlight)
  /**
   * The client for which the request of a connection is counted; undefined: none. A connection handles one request at a time.
   * Entries are not deleted, for the reason that `sweep` of a fair share gives.
   */
  const clients = new WeakMap<Socket, string | undefined>()

  function hold(socket: Socket, client: string): void {
    if (!share.hasRoom(client)) {
      // A random time, so that clients that were rejected together do not retry together.
      const seconds = 1 + Math.floor(Math.random() * 3)
      throw shed('in-flight', 'The server has more requests than it can handle. Retry later.', seconds)
    }
    share.take(client)
    clients.set(socket, client)
  }

  /** Counts the request of a connection no longer: its response has been handed over whole, or the connection has closed. */
  function release(socket: Socket): void {
    const client = clients.get(socket)
    if (client === undefined) return
    clients.set(socket, undefined)
    share.release(client)
  }

  return {
    /**
     * Counts a request as in flight, for its address, until its response is sent.
     *
     * @throws HttpError `unavailable` if the address has its share of requests in flight
     */
    shedByAddress(request: Request): void {
      const { socket } = request
      const address = trustProxy === undefined ? socket.remoteAddress : clientAddress(request)
      // No account begins with a space.
      hold(socket, ` ${addressKey(address)}`)
    },

    /**
     * Counts a request for its account instead, once that is known.
     *
     * @throws HttpError `unavailable` if the account has its share of requests in flight
     */
    shedByAccount({ identity, socket }: Pick<Request, 'identity' | 'socket'>): void {
      // The connection may have closed while the token was looked up.
      if (clients.get(socket) === undefined) return
      release(socket)
      hold(socket, identity.account)
    },

    release,
    /** How many requests are in flight. */
    inFlight: share.used,
  }
}
