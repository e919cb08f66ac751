import { checkMigrated, type Database, openDatabase } from '@plant-store/prisma'

/**
 * Opens the database for one command and closes it whatever happens. It neither creates nor migrates one: a mistyped
 * DATABASE_URL must not become a second database, and reading tokens must not change the one that a server uses.
 *
 * @throws DatabaseError where there is none, or it needs a migration
 */
export async function withDatabase<T>(databaseUrl: string, run: (database: Database) => Promise<T>): Promise<T> {
  await checkMigrated(databaseUrl)
  const database = await openDatabase(databaseUrl)
  try {
    return await run(database)
  } finally {
    // What is committed is in the log, which the next process that opens the database writes back.
    await database.close().catch(() => {})
  }
}
