import { setTimeout as sleep } from 'node:timers/promises'
import { busyRetried } from '../telemetry/events.ts'
import { isBusy } from './storage-failure.ts'

/** How long a request tries, in milliseconds; after that the client gets a 503. */
const PATIENCE = 2_000
/** How long a command tries, in milliseconds: nobody else waits for it. */
export const COMMAND_PATIENCE = 30_000
/** The longest pause between two tries, in milliseconds. */
const LONGEST_PAUSE = 50

/**
 * Runs one statement, again while another process holds the lock of the database. SQLite itself would wait by sleeping,
 * which stops the event loop for everybody; the pauses here stop nobody. Only for statements that are a transaction of
 * their own: a refused one has changed nothing.
 *
 * @param patience how long to try, in milliseconds; default: 2000
 */
export async function retryWhileBusy<T>(run: () => Promise<T>, patience: number = PATIENCE): Promise<T> {
  const end = performance.now() + patience
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return await run()
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw error
      busyRetried.publish(undefined)
      await sleep(pause * (0.5 + Math.random()))
    }
  }
}
