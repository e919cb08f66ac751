import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import type { PrismaClient } from '../../generated/sqlite/client.ts'
import { OPEN_PATIENCE } from '../../shared/retry.ts'
import { createSql, type Sql } from '../../shared/sql.ts'
import { type Connection, connect } from './connect.ts'
import { BUSY_TIMEOUT, CONNECTION_SETTINGS, checkSettings, checkTriggers } from './connection-settings.ts'
import { retryWhileBusy } from './retry-while-busy.ts'
import { watchWrites } from './write-watch.ts'

type Prisma = Omit<PrismaClient, '$transaction'>

/** A connection to a SQLite file. Statements that belong together are written as one: transactions are rejected. */
export interface SqliteClient {
  readonly sql: Sql
  /** Loads Prisma Client on the same connection, at its first use: it takes 0.2 s and 50 MB, and requests do not need it. */
  loadPrisma(): Promise<Prisma>
  /** Explains in a sentence why a write would fail now; undefined: it would not. Takes up to two seconds. */
  whyUnwritable(): Promise<string | undefined>
  /** Closes the connection. The last one of a file writes the write-ahead log back into it. */
  close(): Promise<void>
}

/**
 * Connects to a SQLite file that exists, with the settings that durability needs.
 *
 * @param signal aborts waiting for a file that another process has locked
 */
export async function connectClient(file: string, signal?: AbortSignal): Promise<SqliteClient> {
  const connection = await connect(file, BUSY_TIMEOUT)
  try {
    // Another process may be migrating, opening or recovering the file.
    const options = { patience: OPEN_PATIENCE, signal }
    await retryWhileBusy(() => connection.executeScript(CONNECTION_SETTINGS), options, file)
    await retryWhileBusy(() => checkSettings(connection, file), options, file)
    await retryWhileBusy(() => checkTriggers(connection, file), options, file)
    return createClient(connection, file)
  } catch (error) {
    await connection.dispose()
    throw error
  }
}

function createClient(connection: Connection, file: string): SqliteClient {
  const watch = watchWrites(connection, file)
  const sql = createSql(watch.connection)
  let prisma: Promise<Prisma> | undefined
  return {
    sql,
    loadPrisma() {
      prisma ??= createPrisma(watch.connection)
      return prisma
    },
    whyUnwritable: watch.whyUnwritable,
    async close() {
      watch.close()
      await connection.dispose()
    },
  }
}

async function createPrisma(connection: SqlDriverAdapter): Promise<Prisma> {
  const { PrismaClient } = await import('../../generated/sqlite/client.ts')
  const { provider, adapterName } = connection
  const adapter = { provider, adapterName, connect: async () => connection }
  // The default format quotes the source code around the call.
  return new PrismaClient({ adapter, errorFormat: 'minimal' })
}
