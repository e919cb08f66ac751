import { type Database, migrateDatabase, openDatabase } from '@plant-store/prisma'

/** Opens the database, brought up to date, for one command, and closes it whatever happens. */
export async function withDatabase<T>(databaseUrl: string, run: (database: Database) => Promise<T>): Promise<T> {
  await migrateDatabase(databaseUrl)
  const database = await openDatabase(databaseUrl)
  try {
    return await run(database)
  } finally {
    await database.close()
  }
}
