import { setTimeout as sleep } from 'node:timers/promises'
import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { Database } from '../../database.ts'
import { select } from '../../shared/sql.ts'
import { explainUnavailable, isNoRoom, sqlState, toTemporaryFailure } from './errors.ts'
import type { Pool } from './pool.ts'
import { INSERT_NOTHING, LOCK_TIMEOUT, ORDER_LOCK, whyNotKept } from './promises.ts'

/** How long a probe may take, in milliseconds: longer than it waits for the lock on the order of plants. */
const PROBE_TIMEOUT = 2_500

/** How long naming what blocks a probe may take, in milliseconds. */
const BLOCKER_TIMEOUT = 500

/** Inserts a plant that takes a quarter of a page, and undoes it: only a real write shows that there is room again. */
const INSERT_AND_UNDO = `
  DO $$ BEGIN
    INSERT INTO "Plant" ("account", "id", "name") VALUES ('', '', repeat('x', 1900));
    RAISE EXCEPTION 'undo';
  EXCEPTION WHEN raise_exception THEN
  END $$`

/**
 * Who has the lock on the order, whose key is a bigint of which PostgreSQL shows the halves, or has locked a table; where that
 * one waits for another, the other. A role may see the times of others only with the rights of `pg_read_all_stats`.
 */
const SELECT_BLOCKER = `
  SELECT pid, application_name AS name, round(extract(epoch FROM clock_timestamp() - xact_start))::int AS seconds,
    wait_event = 'SyncRep' AS waits_for_standby
  FROM pg_stat_activity WHERE pid = (
    SELECT coalesce((pg_blocking_pids(pid))[1], pid) FROM pg_locks
    WHERE granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND (
      locktype = 'advisory' AND objsubid = 1 AND (classid::bigint << 32) + objid::bigint = ${ORDER_LOCK}
      OR relation IN ('"Plant"'::regclass, '"Token"'::regclass, '"Edits"'::regclass, '"Secret"'::regclass)
        AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
    LIMIT 1)`

/**
 * Creates what knows whether requests would succeed now. The probe takes the lock on the order of plants, so it fails where
 * another transaction keeps it, and where the server is a standby. A full disk shows only in a real write, which is tried
 * after a request has failed for it.
 */
export function createReadiness({ adapter, sql }: Pool): Pick<Database, 'failure' | 'whyUnavailable'> {
  let hadNoRoom = false

  async function probe(): Promise<string | undefined> {
    const reason = await whyNotKept(adapter)
    if (reason !== undefined) return `The database ${reason}.`
    await sql.execute(INSERT_NOTHING)
    if (hadNoRoom) await sql.execute(INSERT_AND_UNDO)
    hadNoRoom = false
    return undefined
  }

  async function explain(error: unknown): Promise<string> {
    const isLocked = sqlState(error) === LOCK_TIMEOUT
    return (isLocked && (await describeBlocker(adapter).catch(() => undefined))) || explainUnavailable(error)
  }

  /** Through a pooler, the probe may have no time limit of its own and wait for a locked table. */
  async function explainSilence(error: Error): Promise<string> {
    const blocker = await Promise.race([describeBlocker(adapter).catch(() => undefined), sleep(BLOCKER_TIMEOUT)])
    return blocker ?? explainUnavailable(error)
  }

  return {
    failure(error) {
      hadNoRoom ||= isNoRoom(error)
      return toTemporaryFailure(error)
    },

    async whyUnavailable() {
      const silence = sleep(PROBE_TIMEOUT, new Error('Query read timeout'), { ref: false })
      return Promise.race([probe().catch(explain), silence.then(explainSilence)])
    },
  }
}

/** Names the process whose transaction blocks requests; undefined: none does. */
async function describeBlocker(connection: SqlQueryable): Promise<string | undefined> {
  const [blocker] = await select(connection, SELECT_BLOCKER)
  if (!blocker) return undefined
  const { pid, name, seconds, waits_for_standby: waitsForStandby } = blocker
  // Ending its transaction would make plants visible that the standby does not have.
  if (waitsForStandby === true)
    return 'A commit waits for the synchronous standby: start it, or correct synchronous_standby_names.'
  const age = seconds === null ? 'A transaction' : `A transaction that has been open for ${seconds} s`
  return `${age} blocks requests: end it, or run SELECT pg_terminate_backend(${pid}), which is ${JSON.stringify(name)}.`
}
