import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { NextFunction, Request, Response } from 'express'
import { Failure } from '../http/failure.ts'
import { requestRejected } from '../telemetry/events.ts'

/** How much the process takes on at once. */
export interface LoadLimits {
  /** How many requests may be under way. */
  maximumInFlight: number
  /** How late the event loop may be on average, in milliseconds; 0: however late. */
  maximumEventLoopDelay: number
}

/** Turns requests away that the process would answer too late. */
export interface LoadShedding {
  admit(request: Request, response: Response, next: NextFunction): void
  /** How many requests are under way. */
  inFlight(): number
  close(): void
}

/** How often the delay of the event loop is looked at, in milliseconds: a single long task does not shed anything. */
const SAMPLING_INTERVAL = 500
/** The event loop is asked to be in time this often, in milliseconds. */
const RESOLUTION = 10

/**
 * Answers 503 at once, before anything is spent on a request, while more are under way or the event loop is later than
 * the limits say: an answer that comes too late helps nobody, and the work for it delays those that could still be in
 * time.
 */
export function createLoadShedding({ maximumInFlight, maximumEventLoopDelay }: LoadLimits): LoadShedding {
  let inFlight = 0
  let late = false
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION })
  delay.enable()
  const sampling = setInterval(() => {
    late = maximumEventLoopDelay > 0 && delay.mean / 1e6 - RESOLUTION > maximumEventLoopDelay
    delay.reset()
  }, SAMPLING_INTERVAL).unref()

  function release(): void {
    inFlight--
  }

  return {
    admit(_request, response, next) {
      if (inFlight >= maximumInFlight) throw overloaded('in-flight')
      if (late) throw overloaded('event-loop-delay')
      inFlight++
      // It closes once; `once` would make a function for every request.
      response.on('close', release)
      next()
    },
    inFlight: () => inFlight,
    close() {
      delay.disable()
      clearInterval(sampling)
    },
  }
}

function overloaded(reason: 'in-flight' | 'event-loop-delay'): Failure {
  requestRejected.publish(reason)
  // Callers that were turned away together do not come back together.
  const retryAfter = String(1 + Math.floor(Math.random() * 3))
  return new Failure('unavailable', 'The server has more requests than it can bear. Send the request again later.', {
    headers: { 'Retry-After': retryAfter },
  })
}
