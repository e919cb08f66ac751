import { DatabaseError } from '../database-error.ts'
import { describeDatabase, readServerAddress } from './connection/server-address.ts'

export { explainDatabaseError } from './connection/errors.ts'
export { openCopyConnection } from './copy-connection.ts'
export { checkMigrated, migrateDatabase } from './migrate-database.ts'
export { openDatabase } from './open-database.ts'

/** Explains how to back up: PostgreSQL's own tools also cover its settings, roles and points in time. */
export async function backupDatabase(url: string): Promise<never> {
  const database = describeDatabase(readServerAddress(url))
  throw new DatabaseError(
    `${database} is backed up by PostgreSQL's own tools: see docs/production/several-machines/README.md`,
  )
}
