import { existsSync } from 'node:fs'
import { DatabaseError, toDatabaseError } from './database-error.ts'
import { databaseFile } from './database-url.ts'
import { PrismaClient } from './generated/client.ts'
import { createSqliteAdapter } from './sqlite-adapter.ts'

/** An open database. */
export interface Database {
  readonly prisma: PrismaClient
  /** Writes the write-ahead log back into the file and lets go of it. Call it once, after the last query. */
  close(): Promise<void>
}

/**
 * Opens a database that `migrateDatabase` has made.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @throws {DatabaseError} if there is none, or it cannot be used
 */
export async function openDatabase(url: string): Promise<Database> {
  const file = databaseFile(url)
  if (!existsSync(file)) throw new DatabaseError(`${file} does not exist: run pnpm plant-store migrate, which makes it`)
  // The default format quotes the source code around the call.
  const prisma = new PrismaClient({ adapter: createSqliteAdapter(file), errorFormat: 'minimal' })
  try {
    await prisma.$connect()
  } catch (error) {
    throw toDatabaseError(error, file)
  }
  return {
    prisma,
    async close() {
      try {
        await prisma.$queryRaw`PRAGMA wal_checkpoint(TRUNCATE)`
      } finally {
        await prisma.$disconnect()
      }
    },
  }
}
