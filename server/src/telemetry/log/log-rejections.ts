import type { Logger } from 'pino'
import { type Rejection, requestRejected, subscribe } from '../events.ts'
import { createInterval } from './interval.ts'

/** The period that one line covers, in milliseconds. */
const INTERVAL = 1_000

/**
 * Logs how many requests and connections were rejected and why, at most one line per second: a line for each would cost
 * more than rejecting it, under overload.
 *
 * @returns a function that writes the last line and unsubscribes
 */
export function logRejections(logger: Logger): () => void {
  let counts: Partial<Record<Rejection, number>> = {}
  const interval = createInterval(INTERVAL, () => {
    logger.info({ event: 'requests rejected', rejected: counts }, 'requests rejected')
    counts = {}
  })

  const unsubscribe = subscribe(requestRejected, (reason) => {
    counts[reason] = (counts[reason] ?? 0) + 1
    interval.begin()
  })
  return () => {
    unsubscribe()
    interval.end()
  }
}
