import type { Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Request, RequestHandler } from 'express'
import { Failure } from '../failure.ts'
import type { Settings } from '../settings/settings.ts'
import { requestRejected } from '../telemetry/events.ts'
import { addressKey, clientAddress } from './client-address.ts'
import { createFairShare } from './fair-share.ts'

type LoadLimits = Pick<Settings, 'maxRequestsInFlight' | 'maxEventLoopDelay' | 'trustProxy'>

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
   * @throws Failure `unavailable` if the account has its share of requests in flight, or the event loop is late and the
   *   account has at least as many as the average
   */
  shedByAccount(request: Pick<Request, 'identity' | 'socket'>): void
  /** Counts the request of a connection no longer: its response has been handed over whole. */
  release(socket: Socket): void
  /** How many requests are in flight. */
  inFlight(): number
  close(): void
}

/** A connection handles one request at a time. */
interface Connection {
  /** Names the client at its other end. */
  readonly peer: string
  /** The client that its request is counted for; undefined: it handles no request. */
  client: string | undefined
}

/** The period over which the delay is averaged, in milliseconds: a single long task sheds nothing. */
const SAMPLING_INTERVAL = 500
/** The resolution of the measured delay, in milliseconds. */
const RESOLUTION = 10
/** With no more requests in flight than this, shedding one would not make the event loop faster. */
const MIN_IN_FLIGHT = 16

/**
 * Sheds requests early, because a late response is useless and delays others. While the event loop is late, only the
 * accounts with the most requests in flight are affected.
 *
 * A response that only waits for its client to read it is not in flight, so that slow readers do not keep others out.
 */
export function createLoadShedding({ maxRequestsInFlight, maxEventLoopDelay, trustProxy }: LoadLimits): LoadShedding {
  const share = createFairShare(maxRequestsInFlight)
  const connections = new WeakMap<Socket, Connection>()
  let inFlight = 0
  const delay = createOwnDelay()

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
    if (!share.hasRoom(client, 1)) throw overloaded('in-flight')
    share.take(client, 1)
    connection.client = client
    inFlight++
  }

  function release(connection: Connection): void {
    const { client } = connection
    if (client === undefined) return
    connection.client = undefined
    inFlight--
    share.release(client, 1)
  }

  function isLate(): boolean {
    return maxEventLoopDelay > 0 && inFlight > MIN_IN_FLIGHT && delay.mean() > maxEventLoopDelay
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
      const client = identity.account
      release(connection)
      hold(connection, client)
      if (isLate() && share.holdsMuch(client)) {
        release(connection)
        throw overloaded('event-loop-delay')
      }
    },

    release(socket) {
      const connection = connections.get(socket)
      if (connection) release(connection)
    },

    inFlight: () => inFlight,
    close: delay.close,
  }
}

/** Names the client at an address. It begins with a space, as no account does. */
function addressClient(address: string | undefined): string {
  return ` ${addressKey(address ?? '')}`
}

/** How late the event loop is because of this process. */
interface OwnDelay {
  /** The mean of the last half second, in milliseconds. */
  mean(): number
  close(): void
}

/**
 * Measures the delay of the event loop, weighted with the share of a core that this process used: if other programs keep
 * it waiting for a core, the event loop is late too, but shedding would not help.
 */
function createOwnDelay(): OwnDelay {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION })
  delay.enable()
  let mean = 0
  let begin = performance.now()
  let usage = process.cpuUsage()
  const sampling = setInterval(() => {
    const now = performance.now()
    const { user, system } = process.cpuUsage(usage)
    const busy = Math.min(1, (user + system) / 1_000 / (now - begin))
    mean = Math.max(0, delay.mean / 1e6 - RESOLUTION) * busy
    delay.reset()
    begin = now
    usage = process.cpuUsage()
  }, SAMPLING_INTERVAL).unref()

  return {
    mean: () => mean,
    close() {
      delay.disable()
      clearInterval(sampling)
    },
  }
}

function overloaded(reason: 'in-flight' | 'event-loop-delay'): Failure {
  requestRejected.publish(reason)
  // A random time, so that clients that were rejected together do not retry together.
  const retryAfter = String(1 + Math.floor(Math.random() * 3))
  return new Failure('unavailable', 'The server has more requests than it can handle. Retry later.', {
    headers: { 'Retry-After': retryAfter },
  })
}
