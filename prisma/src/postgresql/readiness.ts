import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { OpenOptions, Plants } from '../database.ts'
import { REQUEST_PATIENCE, retryWhile } from '../shared/retry.ts'
import { isTemporary, sqlState, toDatabaseError, toTemporaryFailure } from './connection/errors.ts'
import { whyNotInOrder, whyNotKept } from './connection/promises.ts'

/** How long a request waits for the database in all, beyond its patience for retries, in milliseconds. */
export const GRACE = 300
/** After how much longer its connection is given up, in milliseconds. */
export const SILENCE = 2_000
/** How long a write waits after one that waited too long, in milliseconds. */
const LATE_PATIENCE = 400
/** After how long a probe asks what blocks it, how long that may take, and the probe in all, in milliseconds. */
const [BLOCKED, BLOCKER_TIMEOUT, PROBE_TIMEOUT] = [1_500, 500, 2_500]

/** Inserts a plant that takes a quarter of a page, and undoes it: only a real write shows that there is room again. */
const INSERT_AND_UNDO = `
  BEGIN; INSERT INTO "Plant" ("account", "id", "name") VALUES ('', '', repeat('x', 1900)); ROLLBACK`

/**
 * Explains which transaction keeps others waiting. A role may see its times only with the rights of `pg_read_all_stats`. One
 * that waits for a standby has plants that the standby does not have, which ending it would make visible.
 */
const SELECT_BLOCKER = `
  SELECT CASE WHEN wait_event = 'SyncRep'
    THEN 'A commit waits for the synchronous standby: start it, or correct synchronous_standby_names.'
    ELSE format('A transaction%s blocks requests: end it, or run SELECT pg_terminate_backend(%s), which is "%s".',
      ' that has been open for ' || extract(epoch FROM clock_timestamp() - xact_start)::int || ' s', pid, application_name)
    END AS sentence
  FROM pg_stat_activity
  WHERE cardinality(pg_blocking_pids(pid)) = 0 AND pid IN (
    SELECT unnest(pg_blocking_pids(pid)) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE datname = current_database() AND waitstart < clock_timestamp() - interval '500 ms')
  LIMIT 1`

/** What runs the operations of a database, and knows from them whether requests would succeed. */
export type Readiness = ReturnType<typeof createReadiness>

/**
 * Creates what runs each operation of requests and of Prisma Client, and probes the database. The probe takes the lock on the
 * order of plants, so it fails where another transaction keeps it, and where the server is a standby. It retries as a request
 * does, unless the last probe failed: then it only has to notice that the database is available again. A full disk shows only in a real
 * write, which is tried after a request has failed with a full disk.
 *
 * @param database names it in messages
 * @param timeout how long an operation may take in all, in milliseconds
 */
export function createReadiness(
  pool: Pool,
  database: string,
  timeout: number,
  { patience = REQUEST_PATIENCE, onRetry, editsPlants = false }: OpenOptions,
) {
  let hadNoRoom = false
  let wasAvailable = true

  async function probe(): Promise<string | undefined> {
    const reason = (await whyNotKept(pool)) ?? (await whyNotInOrder(pool, editsPlants))
    if (reason !== undefined) return `The database ${reason}.`
    if (hadNoRoom) await pool.query(INSERT_AND_UNDO)
    hadNoRoom = false
    return undefined
  }

  return {
    /**
     * Runs an operation, again while it fails for a moment, until the time is up. An error of SQL is a mistake of this
     * version, unless what the migrations created was taken away meanwhile.
     *
     * @param mayRepeat whether it may run once more after an error; default: always
     */
    async retry<Result>(run: () => Promise<Result>, mayRepeat = () => true): Promise<Result> {
      try {
        const isRepeatable = (error: unknown) => isTemporary(error) && mayRepeat()
        return await within(timeout, retryWhile(isRepeatable, run, { patience, onRetry }))
      } catch (error) {
        const fault = toTemporaryFailure(error)?.fault
        hadNoRoom ||= fault === 'disk-full' || fault === 'io-error'
        const state = sqlState(error)
        if (state === 'NOT_DURABLE') throw toDatabaseError(error, database)
        if (/^(3F|42)/.test(state)) {
          await whyNotInOrder(pool, editsPlants).catch((cause) => {
            throw toDatabaseError(cause, database)
          })
        }
        throw error
      }
    },

    async whyUnavailable(): Promise<string | undefined> {
      const explain = (error: unknown) => `${toDatabaseError(error, 'the database').message.replace(/^t/, 'T')}.`
      const silence = sleep(PROBE_TIMEOUT, explain(new Error('Query read timeout')), { ref: false })
      const probing = retryWhile(isTemporary, probe, { patience: wasAvailable ? REQUEST_PATIENCE : 0 }).catch(explain)
      const isSlow = await Promise.race([probing.then(() => false), sleep(BLOCKED, true, { ref: false })])
      const reason = (isSlow && (await describeBlocker(pool))) || (await Promise.race([probing, silence]))
      wasAvailable = reason === undefined
      return reason
    },
  }
}

/** Names the transaction that blocks requests; undefined: none does, or the server does not say. */
async function describeBlocker(pool: Pool): Promise<string | undefined> {
  const asking = pool.query<{ sentence: string }>(SELECT_BLOCKER).catch(() => undefined)
  const result = await Promise.race([asking, sleep(BLOCKER_TIMEOUT, undefined, { ref: false })])
  return result?.rows[0]?.sentence
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
 * Lets a write fail sooner after one that has waited too long: its clients waited for the first one too. A write that then arrives
 * while another one waits fails immediately.
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
