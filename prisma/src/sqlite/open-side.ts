import { existsSync, statSync } from 'node:fs'
import { type CopyDialect, createTables } from '../copy/sql-table.ts'
import type { Role, Side } from '../copy/tables.ts'
import { OPEN_PATIENCE } from '../shared/retry.ts'
import { createSql, type Sql } from '../shared/sql.ts'
import { connectClient } from './connection/client.ts'
import { connect } from './connection/connect.ts'
import { databaseFile } from './connection/database-file.ts'
import { missingDatabase, toDatabaseError } from './connection/errors.ts'
import { retryWhileBusy } from './connection/retry-while-busy.ts'
import { dialect } from './statements.ts'

const copyDialect: CopyDialect = {
  ...dialect,
  rows: 'json_each($1)',
  readNumber: (column) => column,
  write: (value, type) =>
    type === 'time' ? `strftime('%Y-%m-%dT%H:%M:%f+00:00', (${value}) / 1000.0, 'unixepoch')` : value,
  overriding: '',
}

/** Pages in memory, in KiB: rows are read and written once, in order. By default there are 16 MB a connection. */
const CACHE_SIZE = 'PRAGMA cache_size = -4000'

/** Opens a SQLite file to copy from or to. */
export async function openSide(url: string, role: Role, signal?: AbortSignal): Promise<Side> {
  const name = databaseFile(url)
  if (!existsSync(name)) throw missingDatabase(name)
  const { sql, close } = await explain(name, () =>
    role === 'source' ? connectReadOnly(name) : connectClient(name, signal),
  )
  await explain(name, () => sql.query(CACHE_SIZE), signal)
  const run = <Result>(operation: () => Promise<Result>) =>
    explain(name, () => retryWhileBusy(operation, { patience: OPEN_PATIENCE, signal }, name), signal)
  return {
    name,
    tables: createTables(sql, copyDialect, run),

    async identify() {
      const { dev, ino } = statSync(name, { bigint: true })
      return `${dev} ${ino}`
    },

    lastSeq: () =>
      run(async () => {
        const [row] = await sql.query<[number]>(
          `SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'Plant'), 0),
                      coalesce((SELECT max("seq") FROM "Plant"), 0))`,
        )
        return row?.[0] ?? 0
      }),

    async continueAfter(seq) {
      const insert = `INSERT INTO sqlite_sequence (name, seq)
        SELECT 'Plant', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'Plant')`
      await run(() => sql.execute(insert))
      await run(() => sql.execute(`UPDATE sqlite_sequence SET seq = max(seq, $1) WHERE name = 'Plant'`, seq))
    },

    close,
  }
}

interface Connection {
  readonly sql: Sql
  close(): Promise<void>
}

async function connectReadOnly(file: string): Promise<Connection> {
  const connection = await connect(file)
  await connection.executeScript('PRAGMA query_only = ON')
  return { sql: createSql(connection), close: () => connection.dispose() }
}

async function explain<Result>(file: string, operation: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  try {
    return await operation()
  } catch (error) {
    signal?.throwIfAborted()
    throw toDatabaseError(error, file)
  }
}
