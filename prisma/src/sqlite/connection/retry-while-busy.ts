import { type RetryOptions, retryWhile } from '../../shared/retry.ts'
import { isBusy } from './errors.ts'

/**
 * Runs an operation, again while another connection has locked the database. SQLite's own wait would block the event loop.
 *
 * @throws the operation's last error, or the signal's reason
 */
export function retryWhileBusy<Result>(run: () => Promise<Result>, options: RetryOptions): Promise<Result> {
  return retryWhile(isBusy, run, options)
}
