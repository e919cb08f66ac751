import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Database } from '../database.ts'
import { REQUEST_PATIENCE, retryWhile } from '../shared/retry.ts'
import { isTemporary, toDatabaseError, toTemporaryFailure } from './connection/errors.ts'
import { whyNotInOrder, whyNotKept } from './connection/promises.ts'

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

/** What the operations of requests show of a database. */
export interface Readiness extends Pick<Database, 'whyUnavailable'> {
  /** Notes why an operation has failed. */
  noteError(error: unknown): void
}

/**
 * Creates what knows whether requests would succeed now. The probe takes the lock on the order of plants, so it fails where
 * another transaction keeps it, and where the server is a standby. It retries as a request does, unless the last one failed:
 * then only that the database is available again is news. A full disk shows only in a real write, which is tried after a
 * request has failed with a full disk.
 */
export function createReadiness(pool: Pool, editsPlants: boolean): Readiness {
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
    noteError(error) {
      const fault = toTemporaryFailure(error)?.fault
      hadNoRoom ||= fault === 'disk-full' || fault === 'io-error'
    },

    async whyUnavailable() {
      const explain = (error: unknown) => `${toDatabaseError(error, 'the database').message.replace(/^t/, 'T')}.`
      const silence = sleep(PROBE_TIMEOUT, explain(new Error('Query read timeout')), { ref: false })
      const patience = wasAvailable ? REQUEST_PATIENCE : 0
      const probing = retryWhile(isTemporary, probe, { patience }).catch(explain)
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
