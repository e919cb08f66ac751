import { type RetryOptions, retryWhile } from '../../shared/retry.ts'
import { checkLocks } from './check-locks.ts'
import { isBusy } from './errors.ts'

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
