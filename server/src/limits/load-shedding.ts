import type { Socket } from 'node:net'
import type { Request, RequestHandler } from 'express'
import { Failure } from '../failure.ts'
import type { Settings } from '../settings/settings.ts'
import { requestRejected } from '../telemetry/events.ts'
import { addressKey, clientAddress } from './client-address.ts'
import { createFairShare } from './fair-share.ts'

type LoadLimits = Pick<Settings, 'maxRequestsInFlight' | 'trustProxy'>

/** Sheds requests that the process would respond to too late. */
export interface LoadShedding {
  /**
   * Counts a request as in flight, for its address, until its response is sent.
   *
   * @throws Failure `unavailable` if the address has its share of requests in flight
   */
  shedByAddress: RequestHandler
  /**
   * Counts a request for its account instead, once that is known.
   *
   * @throws Failure `unavailable` if the account has its share of requests in flight
   */
  shedByAccount(request: Pick<Request, 'identity' | 'socket'>): void
  /** Counts the request of a connection no longer: its response has been handed over whole. */
  release(socket: Socket): void
  /** How many requests are in flight. */
  inFlight(): number
}

/** A connection handles one request at a time. */
interface Connection {
  /** Names the client at its other end. */
  readonly peer: string
  /** The client that its request is counted for; undefined: it handles no request. */
  client: string | undefined
}

/**
 * Sheds requests early, because a late response is useless and delays others.
 *
 * A response that only waits for its client to read it is not in flight, so that slow readers do not keep others out.
 */
export function createLoadShedding({ maxRequestsInFlight, trustProxy }: LoadLimits): LoadShedding {
  const share = createFairShare(maxRequestsInFlight)
  const connections = new WeakMap<Socket, Connection>()

  function find(socket: Socket): Connection {
    const known = connections.get(socket)
    if (known) return known
    const connection: Connection = { peer: addressClient(socket.remoteAddress), client: undefined }
    connections.set(socket, connection)
    // Not all responses end.
    socket.once('close', () => release(connection))
    return connection
  }

  function hold(connection: Connection, client: string): void {
    if (!share.hasRoom(client, 1)) throw overloaded()
    share.take(client, 1)
    connection.client = client
  }

  function release(connection: Connection): void {
    const { client } = connection
    if (client === undefined) return
    connection.client = undefined
    share.release(client, 1)
  }

  return {
    shedByAddress(request, _response, next) {
      const connection = find(request.socket)
      hold(connection, trustProxy === undefined ? connection.peer : addressClient(clientAddress(request)))
      next()
    },

    shedByAccount({ identity, socket }) {
      const connection = find(socket)
      // It may have closed while the token was looked up.
      if (connection.client === undefined) return
      release(connection)
      hold(connection, identity.account)
    },

    release(socket) {
      const connection = connections.get(socket)
      if (connection) release(connection)
    },

    inFlight: share.used,
  }
}

/** Names the client at an address. It begins with a space, as no account does. */
function addressClient(address: string | undefined): string {
  return ` ${addressKey(address ?? '')}`
}

function overloaded(): Failure {
  requestRejected.publish('in-flight')
  // A random time, so that clients that were rejected together do not retry together.
  const retryAfter = String(1 + Math.floor(Math.random() * 3))
  return new Failure('unavailable', 'The server has more requests than it can handle. Retry later.', {
    headers: { 'Retry-After': retryAfter },
  })
}
