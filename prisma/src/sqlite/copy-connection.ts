import type { CopyConnection, CopyDialect, CopyRole } from '../shared/copy-tables.ts'
import { OPEN_PATIENCE } from '../shared/retry.ts'
import { CONNECTION_SETTINGS, connectGuarded, retryWhileBusy } from './connection/connect.ts'
import { existingFile } from './connection/errors.ts'
import { dialect, TIME_FORMAT } from './statements.ts'

const copyDialect: CopyDialect = {
  readTime: (column) => `strftime('${TIME_FORMAT}', (${dialect.readTime(column)}) / 1000.0, 'unixepoch')`,
  insert: (table, columns) => `
    INSERT INTO "${table}" (${columns.map((column) => `"${column}"`)})
    SELECT ${columns.map((column) => `value ->> '${column}'`)} FROM json_each($1)`,
  selectLastSeq: `
    SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'Plant'), 0),
               coalesce((SELECT max("seq") FROM "Plant"), 0))`,
  continueAfter: [
    `DELETE FROM sqlite_sequence WHERE name = 'Plant' AND seq <= $1`,
    `INSERT INTO sqlite_sequence (name, seq) VALUES ('Plant', $1)`,
  ],
}

/** Pages in memory, in KiB: rows are read and written once, in order. By default there are 16 MB a connection. */
const CACHE_SIZE = 'PRAGMA cache_size = -4000'

// SQLite opens the log and its index at the first query.
const READ_ONLY = 'PRAGMA query_only = ON; SELECT 1 FROM sqlite_schema'

/** Opens a SQLite file to copy from or to. */
export async function openCopyConnection(url: string, role: CopyRole, signal?: AbortSignal): Promise<CopyConnection> {
  const name = existingFile(url)
  const settings = role === 'source' ? READ_ONLY : `${CONNECTION_SETTINGS}; BEGIN IMMEDIATE`
  const { connection, guard } = await connectGuarded(name, {}, ({ executeScript }) => {
    const begin = () => executeScript(`${CACHE_SIZE}; ${settings}`)
    return retryWhileBusy(begin, { patience: OPEN_PATIENCE, signal }, name)
  })
  return {
    name,
    dialect: copyDialect,
    query: connection.sql.query,
    async commit() {
      guard.requireAll()
      await connection.executeScript('COMMIT')
    },
    async close() {
      // Closing the connection would write to files that belong to others by now. So would the regular end of the process.
      if (guard.mayClose()) await connection.dispose()
      else process.once('exit', () => process.exit())
    },
  }
}
