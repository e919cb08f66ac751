import type { Pool } from 'pg'
import type { OpenOptions, Plants } from '../database.ts'
import { REQUEST_PATIENCE, retryWhile } from '../shared/retry.ts'
import { isTemporary, sqlState, toDatabaseError } from './connection/errors.ts'
import { whyNotInOrder } from './connection/promises.ts'

/** How long a request waits for the database in all, beyond its patience for retries, in milliseconds. */
export const GRACE = 300
/** After how much longer its connection is given up, in milliseconds. */
export const SILENCE = 2_000
/** How long a write waits after one that waited too long, in milliseconds. */
const LATE_PATIENCE = 400

/**
 * Runs an operation, again while it fails for a moment.
 *
 * @param mayRepeat whether it may run once more after an error; default: always
 */
export type PostgresqlRetry = <Result>(run: () => Promise<Result>, mayRepeat?: () => boolean) => Promise<Result>

/**
 * Creates what runs each operation of requests and of Prisma Client: again while it fails for a moment, until the time is
 * up. An error of SQL is a mistake of this version, unless what the migrations created was taken away meanwhile.
 *
 * @param timeout how long an operation may take in all, in milliseconds
 * @param noteError called with the error of an operation
 */
export function createRetry(
  pool: Pool,
  database: string,
  timeout: number,
  { patience = REQUEST_PATIENCE, onRetry, editsPlants = false }: OpenOptions,
  noteError: (error: unknown) => void = () => {},
): PostgresqlRetry {
  return async (run, mayRepeat = () => true) => {
    try {
      const isRepeatable = (error: unknown) => isTemporary(error) && mayRepeat()
      return await within(timeout, retryWhile(isRepeatable, run, { patience, onRetry }))
    } catch (error) {
      noteError(error)
      const state = sqlState(error)
      if (state === 'NOT_DURABLE') throw toDatabaseError(error, database)
      if (/^(3F|42)/.test(state)) {
        await whyNotInOrder(pool, editsPlants).catch((cause) => {
          throw toDatabaseError(cause, database)
        })
      }
      throw error
    }
  }
}

/** Rejects where an operation takes longer than some milliseconds, by default with the driver's own error for that. */
function within<Result>(
  timeout: number,
  running: Promise<Result>,
  makeError: () => unknown = () => new Error('Query read timeout'),
): Promise<Result> {
  return new Promise((resolve, reject) => {
    // If this process was busy, not the server, the response has arrived and is read first.
    const timer = setTimeout(() => setImmediate(() => reject(makeError())), timeout)
    running.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/**
 * Lets writes fail soon after one that has waited too long, as long as the next one waits too: those who wait for their turn
 * have waited for both.
 */
export function failSoon(insert: Plants['insert']): Plants['insert'] {
  let failure: { readonly error: unknown } | undefined
  let waiting = 0
  return async (plants) => {
    if (failure && waiting > 0) throw failure.error
    waiting++
    const begin = performance.now()
    const inserting = insert(plants).finally(() => waiting--)
    inserting.then(
      () => {
        failure = undefined
      },
      (error) => {
        failure = performance.now() - begin > REQUEST_PATIENCE / 2 ? { error } : undefined
      },
    )
    const late = failure
    return late ? within(LATE_PATIENCE, inserting, () => late.error) : inserting
  }
}
