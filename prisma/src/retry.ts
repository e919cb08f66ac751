import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError } from './database.ts'

/** How long a request waits for a database that is temporarily unavailable, in milliseconds; then it gets a 503. */
export const REQUEST_PATIENCE = 2_000
/** The longest pause between two attempts of a startup, in milliseconds. */
export const STARTUP_PAUSE = 500

/** How to retry. */
export interface RetryOptions {
  /** How long to retry, in milliseconds; 0: not at all. */
  patience: number
  /** The longest pause between two attempts, in milliseconds. Default: 50. */
  maxPause?: number
  /** Whether what failed may run again, which its error alone does not tell. Default: it may. */
  mayRepeat?: (error: unknown) => boolean
}

/**
 * Runs an operation, again while its error says that it may succeed within a moment. The pauses leave the event loop free.
 *
 * @throws the operation's last error
 */
export async function retry<Result>(
  run: () => Promise<Result>,
  { patience, maxPause = 50, mayRepeat = () => true }: RetryOptions,
): Promise<Result> {
  const end = performance.now() + patience
  for (let pause = 1; ; pause = Math.min(pause * 2, maxPause)) {
    try {
      return await run()
    } catch (error) {
      const isTemporary = error instanceof StorageError && error.isTemporary && mayRepeat(error)
      if (!isTemporary || performance.now() >= end) throw error
      await sleep(pause * (0.5 + Math.random()))
    }
  }
}

/** Rejects with an error where an operation takes longer than some milliseconds. The operation itself goes on. */
export function limitTime<Result>(running: Promise<Result>, time: number, makeError: () => unknown): Promise<Result> {
  return new Promise((resolve, reject) => {
    // If this process was busy, not the database, the result has arrived and is read first.
    const timer = setTimeout(() => setImmediate(() => reject(makeError())), time)
    running.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
