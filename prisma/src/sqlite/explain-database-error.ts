import { toDatabaseError } from '../database-error.ts'
import { databaseFile } from '../database-url.ts'

/**
 * Turns an error of Prisma or SQLite into a DatabaseError, whose message is one sentence, and gives back any other error
 * as it is.
 *
 * @param url the DATABASE_URL of the database in use
 */
export function explainDatabaseError(error: unknown, url: string): unknown {
  const isOfDatabase = error instanceof Error && /^(PrismaClient|DriverAdapterError|SqliteError)/.test(error.name)
  return isOfDatabase ? toDatabaseError(error, databaseFile(url)) : error
}
