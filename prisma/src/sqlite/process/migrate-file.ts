import { DatabaseError } from '../../database-error.ts'
import { applyMigrations, type Migration } from '../../shared/migrations.ts'
import { type Connection, select } from '../../shared/sql.ts'
import { withConnection } from '../connection/connect.ts'
import { retryWhileBusy } from '../connection/retry-while-busy.ts'

/** How long to wait for another process that uses the same file, in milliseconds. */
export const MIGRATION_PATIENCE = 60_000

/**
 * Applies the pending migrations to a file, in one transaction.
 *
 * @returns the names of the migrations that were applied
 * @throws {DatabaseError} if the database's history does not match the migrations, or one fails
 */
export function migrateFile(file: string, migrations: readonly Migration[]): Promise<string[]> {
  // What is not committed is undone by closing the connection.
  return withConnection(file, async (connection) => {
    const execute = (script: string) =>
      retryWhileBusy(() => connection.executeScript(script), { patience: MIGRATION_PATIENCE }, file)
    // Prisma's migrations replace tables; with foreign keys on, that deletes the rows that refer to them.
    await execute('PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL')
    await execute('BEGIN IMMEDIATE')
    const applied = await applyMigrations(connection, file, migrations)
    await rejectBroken(connection, file)
    await execute('COMMIT')
    return applied
  })
}

async function rejectBroken(connection: Connection, file: string): Promise<void> {
  const [broken] = await select(connection, 'PRAGMA foreign_key_check')
  if (!broken) return
  const reason = `rows of ${broken['table']} would refer to missing rows`
  throw new DatabaseError(`${file} was not migrated and is unchanged: ${reason}`)
}
