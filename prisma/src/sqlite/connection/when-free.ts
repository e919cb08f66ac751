import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '../../database-error.ts'

const PAUSE_MILLISECONDS = 20

/** How long opening a database waits for the lock of another process, in milliseconds. */
export const OPEN_WAIT_MILLISECONDS = 30_000

/**
 * Repeats an operation while another process holds the database's lock, for at most `milliseconds`, or until `signal`
 * is aborted. Between two attempts the event loop runs; SQLite's own busy timeout would stop it.
 *
 * @throws the reason of the signal, or the operation's last error
 */
export async function whenFree<Result>(
  operation: () => Promise<Result>,
  milliseconds: number,
  signal?: AbortSignal,
): Promise<Result> {
  const deadline = Date.now() + milliseconds
  while (true) {
    signal?.throwIfAborted()
    try {
      return await operation()
    } catch (error) {
      if (!errorCode(error).startsWith('SQLITE_BUSY') || Date.now() > deadline) throw error
      await sleep(PAUSE_MILLISECONDS)
    }
  }
}
