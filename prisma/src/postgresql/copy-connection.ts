import type { CopyConnection, CopyDialect, CopyRole } from '../shared/copy-tables.ts'
import { beginTransaction, type Connections, openConnection } from './connection/connections.ts'
import { retryWhileUnavailable } from './connection/errors.ts'
import { ON_PRIMARY } from './connection/promises.ts'
import { describeDatabase, readServerAddress } from './connection/server-address.ts'

const SEQUENCE = `pg_get_serial_sequence('"Plant"', 'seq')::regclass`
const copyDialect: CopyDialect = {
  readTime: (column) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"')`,
  insert(table, columns) {
    const names = columns.map((column) => `"${column}"`)
    return `
      INSERT INTO "${table}" (${names}) OVERRIDING SYSTEM VALUE
      SELECT ${names} FROM json_populate_recordset(NULL::"${table}", $1::json)`
  },
  selectLastSeq: `
    SELECT greatest(coalesce(pg_sequence_last_value(${SEQUENCE}), 0), (SELECT max("seq") FROM "Plant"))::float8`,
  continueAfter: [`SELECT setval(${SEQUENCE}, $1::bigint)`],
}

/** Opens a PostgreSQL database to copy from or to, in a transaction. */
export async function openCopyConnection(url: string, role: CopyRole, signal?: AbortSignal): Promise<CopyConnection> {
  const address = readServerAddress(url)
  const connections = await openConnection(address, { signal })
  const { connection, commit, end } = await retryWhileUnavailable(() => begin(connections, role), signal).catch(
    (error) => connections.close().then(() => Promise.reject(error)),
  )
  return {
    name: describeDatabase(address),
    dialect: copyDialect,
    query: connection.sql.query,
    async commit() {
      // Until its next automatic ANALYZE, PostgreSQL would plan statements as for an empty table.
      await connection.executeScript('ANALYZE "Plant"')
      await commit()
    },
    close: () => end().finally(connections.close),
  }
}

/** Begins a transaction, on a server that has all that was acknowledged. */
async function begin(connections: Connections, role: CopyRole) {
  await connections.pool.query(`SELECT WHERE ${ON_PRIMARY}`)
  const transaction = await beginTransaction(connections)
  if (role === 'source') await transaction.connection.executeScript('SET TRANSACTION READ ONLY')
  return transaction
}
