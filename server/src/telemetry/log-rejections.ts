import type { Logger } from 'pino'
import { type Rejection, requestRejected } from './events.ts'

/** How many milliseconds of rejections one line tells of. */
const INTERVAL = 1_000

/**
 * Logs how many callers were turned away and why, one line a second at most: a line for each would cost more than turning
 * it away, at just the time when there is no time.
 *
 * @returns a function that writes the last line and ends it
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
    logger.warn({ rejected: counts }, 'callers were turned away')
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
