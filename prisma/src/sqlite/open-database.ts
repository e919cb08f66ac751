import { existsSync } from 'node:fs'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { missingDatabase, toDatabaseError } from '../database-error.ts'
import { databaseFile } from '../database-url.ts'
import { PrismaClient } from '../generated/client.ts'
import { createSql, type Sql } from '../sql.ts'
import { createSqliteAdapter } from './connection/client.ts'
import { createWriteWatch } from './connection/write-watch.ts'

/** An open database. */
export interface Database {
  readonly prisma: PrismaClient
  /** For the few statements that every request runs. */
  readonly sql: Sql
  /**
   * Why a write would be rejected now, in a sentence; undefined: it would be accepted. It takes up to two seconds where
   * another process has locked the database.
   */
  whyNotWritable(): Promise<string | undefined>
  /** Writes the write-ahead log back into the file and lets go of it. Call it once, after the last query. */
  close(): Promise<void>
}

/**
 * Opens a database that `migrateDatabase` has made.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param signal ends the wait for a file that another process has locked
 * @throws {DatabaseError} if there is none, or it cannot be used; the reason of the signal
 */
export async function openDatabase(url: string, signal?: AbortSignal): Promise<Database> {
  const file = databaseFile(url)
  if (!existsSync(file)) throw missingDatabase(file)
  try {
    const watch = createWriteWatch(file)
    const sqlite = createSqliteAdapter(file, watch, signal)
    let connection: SqlDriverAdapter | undefined
    const adapter = {
      ...sqlite,
      async connect() {
        connection = await sqlite.connect()
        return connection
      },
    }
    // The default format quotes the source code around the call.
    const prisma = new PrismaClient({ adapter, errorFormat: 'minimal' })
    await prisma.$connect()
    return {
      prisma,
      sql: createSql(() => connection),
      whyNotWritable: watch.whyNotWritable,
      async close() {
        // The last connection to close removes the write-ahead log.
        await watch.close()
        await close(prisma)
      },
    }
  } catch (error) {
    signal?.throwIfAborted()
    throw toDatabaseError(error, file)
  }
}

async function close(prisma: PrismaClient): Promise<void> {
  try {
    await prisma.$queryRaw`PRAGMA wal_checkpoint(TRUNCATE)`
  } finally {
    await prisma.$disconnect()
  }
}
