import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { PrismaClient } from '../../generated/sqlite/client.ts'
import { OPEN_PATIENCE } from '../../shared/retry.ts'
import { createSql, type Sql } from '../../shared/sql.ts'
import { checkTriggers } from './check-triggers.ts'
import { connect } from './connect.ts'
import { CONNECTION_SETTINGS, checkSettings } from './connection-settings.ts'
import { retryWhileBusy } from './retry-while-busy.ts'
import { watchWrites } from './write-watch.ts'

/** How long a statement waits for another process's lock, in milliseconds. Short, because that blocks the event loop. */
export const BUSY_TIMEOUT = 50

/** Prisma Client on a SQLite file. Statements that belong together are written as one: transactions are rejected. */
export interface SqliteClient {
  readonly prisma: Omit<PrismaClient, '$transaction'>
  /** The same connection, for raw SQL. */
  readonly sql: Sql
  /** Explains in a sentence why a write would fail now; undefined: it would not. Takes up to two seconds. */
  whyUnwritable(): Promise<string | undefined>
  /** Writes the write-ahead log back into the file and closes it. */
  close(): Promise<void>
}

/**
 * Connects Prisma Client to a SQLite file that exists, with the settings that durability needs.
 *
 * @param signal aborts waiting for a file that another process has locked
 */
export async function connectClient(file: string, signal?: AbortSignal): Promise<SqliteClient> {
  const connection = await connect(file, BUSY_TIMEOUT)
  try {
    // Another process may be migrating, opening or recovering the file.
    const options = { patience: OPEN_PATIENCE, signal }
    await retryWhileBusy(() => connection.executeScript(CONNECTION_SETTINGS), options)
    await retryWhileBusy(() => checkSettings(connection, file), options)
    await retryWhileBusy(() => checkTriggers(connection, file), options)
    return await createClient(connection, file)
  } catch (error) {
    await connection.dispose()
    throw error
  }
}

async function createClient(connection: SqlDriverAdapter, file: string): Promise<SqliteClient> {
  const watch = watchWrites(connection, file)
  const { provider, adapterName } = connection
  const adapter = { provider, adapterName, connect: async () => ({ ...watch.connection, startTransaction }) }
  // The default format quotes the source code around the call.
  const prisma = new PrismaClient({ adapter, errorFormat: 'minimal' })
  await prisma.$connect()
  const sql = createSql(watch.connection)
  return {
    prisma,
    sql,
    whyUnwritable: watch.whyUnwritable,
    async close() {
      // The last connection to close removes the write-ahead log.
      await watch.close()
      try {
        await sql.query('PRAGMA wal_checkpoint(TRUNCATE)')
      } finally {
        await prisma.$disconnect()
      }
    },
  }
}

/**
 * A transaction belongs to the connection, which all requests share: the statements of others would run inside it, and
 * be undone with it (https://github.com/prisma/orm/issues/29933).
 */
function startTransaction(): Promise<never> {
  return Promise.reject(new Error('Transactions are not supported: write what belongs together as one statement.'))
}
