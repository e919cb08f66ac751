import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import type { CopyDialect, Side } from '../shared/copy-tables.ts'
import { createSql } from '../shared/sql.ts'
import { retryWhileUnavailable } from './connection/errors.ts'
import { createSingleConnection } from './connection/pool.ts'
import { standbyError } from './connection/promises.ts'
import { describeDatabase, readServerAddress } from './connection/server-address.ts'
import { dialect } from './statements.ts'
import { beginTransaction, type MigrationTransaction } from './transaction.ts'

const SEQUENCE = `pg_get_serial_sequence('"Plant"', 'seq')::regclass`
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
  selectLastSeq: `
    SELECT greatest(coalesce(pg_sequence_last_value(${SEQUENCE}), 0), (SELECT max("seq") FROM "Plant"))::float8`,
  continueAfter: [`SELECT setval(${SEQUENCE}, $1::bigint)`],
}

/** Opens a PostgreSQL database to copy from or to. */
export async function openSide(url: string, _role: 'source' | 'target', signal?: AbortSignal): Promise<Side> {
  const address = readServerAddress(url)
  const { adapter, close } = await createSingleConnection(address, { signal })
  const begun = retryWhileUnavailable(() => begin(adapter), signal)
  const { connection, commit, rollback } = await begun.catch((error) => close().then(() => Promise.reject(error)))
  let isOpen = true
  return {
    name: describeDatabase(address),
    dialect: copyDialect,
    query: createSql(connection).query,
    async commit() {
      // Otherwise plans would be those of an empty table until PostgreSQL finds the time.
      await connection.executeScript('ANALYZE "Plant"')
      await commit()
      isOpen = false
    },
    close: () => (isOpen ? rollback() : Promise.resolve()).finally(close),
  }
}

/** Begins a transaction, on a server that has all that was acknowledged. */
async function begin(adapter: SqlDriverAdapter): Promise<MigrationTransaction> {
  const [row] = await createSql(adapter).query<[boolean]>('SELECT pg_is_in_recovery()')
  if (row?.[0]) throw standbyError()
  return beginTransaction(adapter)
}
