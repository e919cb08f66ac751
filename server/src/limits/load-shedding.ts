import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { NextFunction, Request, Response } from 'express'
import { Failure } from '../failure.ts'
import type { Settings } from '../settings/settings.ts'
import { requestRejected } from '../telemetry/events.ts'
import { addressKey } from './address-key.ts'
import { createFairShare } from './fair-share.ts'

type LoadLimits = Pick<Settings, 'maxRequestsInFlight' | 'maxEventLoopDelay'>

/** Rejects requests that the process would answer too late. */
export interface LoadShedding {
  /** Admits a request in the name of its address. It is in flight until its response has been handed over whole. */
  admit(request: Request, response: Response, next: NextFunction): void
  /**
   * Counts an admitted request in the name of its account instead.
   *
   * @throws Failure `unavailable` where the account has its share of requests in flight, or the event loop is late and
   *   the account has more of them than the others
   */
  assign(response: Response, account: string): void
  /** How many requests are in flight. */
  inFlight(): number
  close(): void
}

/** How often the delay of the event loop is read, in milliseconds: a single long task does not shed anything. */
const SAMPLING_INTERVAL = 500
/** The precision with which the delay of the event loop is measured, in milliseconds. */
const RESOLUTION = 10
/** With fewer requests in flight, shedding one more would not make the event loop any faster. */
const MINIMUM_IN_FLIGHT = 16

/**
 * Responds 503 before much is spent on a request, while more are in flight or the event loop is later than the limits
 * say: a response that comes too late is useless, and the work for it delays those that could still be in time. While the
 * event loop is late, the accounts with the most requests in flight are rejected; a client with few of them goes on.
 *
 * In flight is what the process works on or waits for. A response that only waits for its client to read it is not, so
 * that slow readers keep no one else out.
 */
export function createLoadShedding({ maxRequestsInFlight, maxEventLoopDelay }: LoadLimits): LoadShedding {
  const share = createFairShare(maxRequestsInFlight)
  const clients = new Map<Response, string>()
  const delay = createOwnDelay()

  function hold(response: Response, client: string): void {
    if (!share.hasRoom(client, 1)) throw overloaded('in-flight')
    share.take(client, 1)
    clients.set(response, client)
  }

  function isLate(): boolean {
    return maxEventLoopDelay > 0 && clients.size > MINIMUM_IN_FLIGHT && delay.mean() > maxEventLoopDelay
  }

  function release(this: Response): void {
    const client = clients.get(this)
    if (client === undefined) return
    clients.delete(this)
    share.release(client, 1)
  }

  return {
    admit(request, response, next) {
      hold(response, `address ${addressKey(request.ip ?? '')}`)
      // Node.js emits the first when the last byte has been handed over, and the second in any case.
      response.on('prefinish', release).on('close', release)
      next()
    },

    assign(response, account) {
      // Its connection may have closed while its token was looked up.
      if (!clients.has(response)) return
      const client = `account ${account}`
      release.call(response)
      hold(response, client)
      if (isLate() && share.holdsMuch(client)) {
        release.call(response)
        throw overloaded('event-loop-delay')
      }
    },

    inFlight: () => clients.size,
    close: delay.close,
  }
}

/** How late the event loop is because of what this process itself does. */
interface OwnDelay {
  /** The mean of the last half second, in milliseconds. */
  mean(): number
  close(): void
}

/**
 * Measures the delay of the event loop, weighted with the share of a core that this process had meanwhile: where other
 * programs keep it waiting for a core, the event loop is late although the process has little to do, and rejecting its
 * requests would not help.
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
  // Clients that were rejected together do not come back together.
  const retryAfter = String(1 + Math.floor(Math.random() * 3))
  return new Failure('unavailable', 'The server has more requests than it can handle. Retry later.', {
    headers: { 'Retry-After': retryAfter },
  })
}
