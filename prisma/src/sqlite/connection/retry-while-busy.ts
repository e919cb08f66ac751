import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import { DatabaseError } from '../../database-error.ts'
import { type RetryOptions, retryWhile } from '../../shared/retry.ts'
import { isBusy, NO_LOCKS } from './errors.ts'

/**
 * Runs an operation, again while another connection has locked the database. SQLite's own wait would block the event loop.
 *
 * @param file the database, if its disk may be one that does not support locks
 * @throws the operation's last error, or the signal's reason
 */
export function retryWhileBusy<Result>(
  run: () => Promise<Result>,
  options: RetryOptions,
  file?: string,
): Promise<Result> {
  let unchecked = file
  const onRetry = () => {
    if (unchecked !== undefined) checkLocks(unchecked)
    unchecked = undefined
    options.onRetry?.()
  }
  return retryWhile(isBusy, run, { ...options, onRetry })
}

/**
 * Checks that the disk of a file supports locks. SQLite reports one that does not as busy, for ever, so a file that no other
 * process knows is locked.
 *
 * @throws {DatabaseError} if it does not
 */
export function checkLocks(file: string): void {
  const probe = `${file}.${randomUUID()}.lock`
  try {
    const connection = new BetterSqlite3(probe, { timeout: 0 })
    try {
      connection.exec('BEGIN EXCLUSIVE')
    } finally {
      connection.close()
    }
  } catch (error) {
    if (isBusy(error)) throw new DatabaseError(`${file} ${NO_LOCKS}`, { cause: error })
    // What is wrong with the folder shows in the operation itself.
  } finally {
    rmSync(probe, { force: true })
  }
}
