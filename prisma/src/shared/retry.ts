import { setTimeout as sleep } from 'node:timers/promises'

/** How long a request waits for a database that is temporarily unavailable, in milliseconds; then it gets a 503. */
export const REQUEST_PATIENCE = 2_000
/** How long opening a database that is locked may take, in milliseconds. */
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
 * Runs an operation, again while its error says that it may succeed soon. Only for what may run twice, such as a statement
 * that changes nothing when it fails. The pauses leave the event loop free.
 *
 * @param isTemporary whether an error may go away
 * @throws the operation's last error, or the signal's reason
 */
export async function retryWhile<Result>(
  isTemporary: (error: unknown) => boolean,
  run: () => Promise<Result>,
  { patience, maxPause = 50, onRetry, signal }: RetryOptions,
): Promise<Result> {
  const end = performance.now() + patience
  for (let pause = 1; ; pause = Math.min(pause * 2, maxPause)) {
    signal?.throwIfAborted()
    try {
      return await run()
    } catch (error) {
      if (!isTemporary(error) || performance.now() >= end) throw error
      onRetry?.()
      await sleep(pause * (0.5 + Math.random()))
    }
  }
}
