import { setTimeout as sleep } from 'node:timers/promises'
import { isBusy } from './errors.ts'

/** How long a write of a request waits for a locked database, in milliseconds; then the response is a 503. */
export const REQUEST_PATIENCE = 2_000
/** How long opening a database waits for another process that has locked it, in milliseconds. */
export const OPEN_PATIENCE = 30_000

/** How to retry. */
export interface RetryOptions {
  /** How long to retry, in milliseconds; 0: not at all. */
  patience: number
  /** The longest pause between two attempts, in milliseconds. Default: 50. */
  maxPause?: number
  /** Called before each retry. */
  onRetry?: (() => void) | undefined
  /** Aborts the retries. */
  signal?: AbortSignal | undefined
}

/**
 * Runs an operation, again while another connection has locked the database. The pauses leave the event loop free;
 * SQLite's own wait blocks it. Only for what changes nothing when it fails, such as a single statement.
 *
 * @throws the operation's last error, or the signal's reason
 */
export async function retryWhileBusy<Result>(
  run: () => Promise<Result>,
  { patience, maxPause = 50, onRetry, signal }: RetryOptions,
): Promise<Result> {
  const end = performance.now() + patience
  for (let pause = 1; ; pause = Math.min(pause * 2, maxPause)) {
    signal?.throwIfAborted()
    try {
      return await run()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw error
      onRetry?.()
      await sleep(pause * (0.5 + Math.random()))
    }
  }
}
