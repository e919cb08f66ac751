import { type CopyDialect, createTables } from '../copy/sql-table.ts'
import type { Role, Side } from '../copy/tables.ts'
import { retryWhile } from '../shared/retry.ts'
import { createSql } from '../shared/sql.ts'
import { isTemporary, toDatabaseError } from './connection/errors.ts'
import { createPool } from './connection/pool.ts'
import { describeDatabase, readServerAddress } from './connection/server-address.ts'
import { dialect } from './statements.ts'

/** How long a copy waits for a server that does not respond, such as one that restarts, in milliseconds. */
const PATIENCE = 60_000
const MAX_PAUSE = 500

const SEQUENCE = `pg_get_serial_sequence('"Plant"', 'seq')::regclass`
const LAST_SEQ = `greatest(coalesce(pg_sequence_last_value(${SEQUENCE}), 0), coalesce((SELECT max("seq") FROM "Plant"), 0))`

const WRITE = {
  number: (value: string) => `(${value})::bigint`,
  text: (value: string) => value,
  time: (value: string) => `to_timestamp((${value})::float8 / 1000)`,
}
const copyDialect: CopyDialect = {
  ...dialect,
  rows: 'json_array_elements($1::json) AS "rows"(value)',
  // As a number of JavaScript, not as the text of a BIGINT.
  readNumber: (column) => `${column}::float8`,
  write: (value, type) => WRITE[type](value),
  overriding: 'OVERRIDING SYSTEM VALUE',
}

/** Opens a PostgreSQL database to copy from or to. */
export async function openSide(url: string, _role: Role, signal?: AbortSignal): Promise<Side> {
  const address = readServerAddress(url)
  const name = describeDatabase(address)
  const { adapter, close } = await createPool(address)
  const sql = createSql(adapter)
  const run = async <Result>(operation: () => Promise<Result>): Promise<Result> => {
    try {
      return await retryWhile(isTemporary, operation, { patience: PATIENCE, maxPause: MAX_PAUSE, signal })
    } catch (error) {
      signal?.throwIfAborted()
      throw toDatabaseError(error, name)
    }
  }
  const selectOne = async <Value extends string>(expression: string): Promise<Value | undefined> =>
    (await run(() => sql.query<[Value]>(`SELECT ${expression}`)))[0]?.[0]
  return {
    name,
    tables: createTables(sql, copyDialect, run),

    identify: async () =>
      // A server starts at a moment of its own, in microseconds.
      String(
        await selectOne(`concat_ws(' ', pg_postmaster_start_time(), current_database(), '"Plant"'::regclass::oid)`),
      ),

    lastSeq: async () => Number(await selectOne(`${LAST_SEQ}::text`)),

    async continueAfter(seq) {
      await run(() => sql.query(`SELECT setval(${SEQUENCE}, greatest($1::bigint, ${LAST_SEQ}))`, seq))
      // Otherwise plans would be those of an empty table until PostgreSQL finds the time.
      await run(() => sql.execute('ANALYZE "Plant"'))
    },

    close,
  }
}
