import { retryWhile } from '../../shared/retry.ts'
import { isTemporary } from './errors.ts'

/** How long opening a database waits until it responds, in milliseconds. */
const OPEN_PATIENCE = 10_000
const MAX_PAUSE = 500

/**
 * Runs an operation of a startup, again while the database does not respond: it may be starting too.
 *
 * @throws the operation's last error, or the signal's reason
 */
export function retryWhileUnavailable<Result>(run: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  return retryWhile(isTemporary, run, { patience: OPEN_PATIENCE, maxPause: MAX_PAUSE, signal })
}
