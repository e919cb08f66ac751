import type { Logger } from 'pino'
import { type Rejection, requestRejected } from './events.ts'

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
  let timer: NodeJS.Timeout | undefined

  function count(reason: Rejection): void {
    counts[reason] = (counts[reason] ?? 0) + 1
    timer ??= setTimeout(write, INTERVAL).unref()
  }

  function write(): void {
    timer = undefined
    logger.info({ event: 'requests rejected', rejected: counts }, 'requests rejected')
    counts = {}
  }

  requestRejected.subscribe(count)
  return () => {
    requestRejected.unsubscribe(count)
    if (!timer) return
    clearTimeout(timer)
    write()
  }
}
