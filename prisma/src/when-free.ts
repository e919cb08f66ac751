import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from './database-error.ts'

const PAUSE_MILLISECONDS = 20

/**
 * Repeats an operation while another process holds the database's lock, for at most `milliseconds`. Between two
 * attempts the event loop runs; SQLite's own busy timeout would stop it.
 */
export async function whenFree<Result>(operation: () => Promise<Result>, milliseconds: number): Promise<Result> {
  const deadline = Date.now() + milliseconds
  while (true) {
    try {
      return await operation()
    } catch (error) {
      if (!errorCode(error).startsWith('SQLITE_BUSY') || Date.now() > deadline) throw error
      await sleep(PAUSE_MILLISECONDS)
    }
  }
}
