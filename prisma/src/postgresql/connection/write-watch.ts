import { setTimeout as sleep } from 'node:timers/promises'
import type { SqlDriverAdapter, SqlQuery } from '@prisma/driver-adapter-utils'
import type { Sql } from '../../shared/sql.ts'
import { explainUnavailable, isNoRoom, sqlState } from './errors.ts'
import type { Pool } from './pool.ts'
import { describeBlocker, INSERT_NOTHING, whyNotKept } from './promises.ts'

/** How long a probe may take, in milliseconds: longer than it waits for the lock on the order of plants. */
const PROBE_TIMEOUT = 2_500

/** Inserts a plant that takes a quarter of a page, and undoes it: only a real write shows that there is room again. */
const INSERT_AND_UNDO = `
  DO $$ BEGIN
    INSERT INTO "Plant" ("account", "id", "name") VALUES ('', '', repeat('x', 1900));
    RAISE EXCEPTION 'undo';
  EXCEPTION WHEN raise_exception THEN
  END $$`

/** Knows whether a write would succeed now. */
export interface WriteWatch {
  /** The connections, with their writes watched. */
  readonly adapter: SqlDriverAdapter
  readonly sql: Sql
  /** Explains in a sentence why a request would fail now; undefined: it would not. Takes up to two and a half seconds. */
  whyUnwritable(): Promise<string | undefined>
}

/**
 * Watches the writes of connections. The probe takes the lock on the order of plants, so it fails where another transaction
 * keeps it, and where the server is a standby. A full disk shows only in a real write, which is tried after one has failed.
 */
export function watchWrites({ adapter, sql }: Pool): WriteWatch {
  let failed = false

  async function probe(): Promise<string | undefined> {
    const reason = await whyNotKept(adapter)
    if (reason !== undefined) return `The database ${reason}.`
    await sql.execute(INSERT_NOTHING)
    if (failed) await sql.execute(INSERT_AND_UNDO)
    failed = false
    return undefined
  }

  async function explain(error: unknown): Promise<string> {
    const blocker = sqlState(error) === '55P03' ? await describeBlocker(adapter).catch(() => undefined) : undefined
    return blocker ?? explainUnavailable(error)
  }

  async function watch<Result>(write: () => Promise<Result>): Promise<Result> {
    try {
      return await write()
    } catch (error) {
      failed ||= isNoRoom(error)
      throw error
    }
  }

  return {
    adapter: Object.assign(Object.create(adapter) as SqlDriverAdapter, {
      executeRaw: (query: SqlQuery) => watch(() => adapter.executeRaw(query)),
    }),
    sql: { ...sql, execute: (text, ...values) => watch(() => sql.execute(text, ...values)) },

    async whyUnwritable() {
      const silence = sleep(PROBE_TIMEOUT, 'The database does not respond.', { ref: false })
      return Promise.race([probe().catch(explain), silence])
    },
  }
}
