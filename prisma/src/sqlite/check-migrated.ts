import { existsSync } from 'node:fs'
import { DatabaseError } from '../database-error.ts'
import { databaseFile } from '../database-url.ts'
import { pendingMigrations } from '../migration/migration-history.ts'
import { migrationsFolder, readMigrations } from '../migration/migrations.ts'
import { withConnection } from './connection/connect.ts'
import { missingDatabase, toDatabaseError } from './connection/errors.ts'
import { OPEN_PATIENCE, retryWhileBusy } from './connection/retry-while-busy.ts'

/**
 * Checks that a database exists and has the newest schema, and changes nothing.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param folder where the migrations are
 * @throws {DatabaseError} if it does not exist, needs a migration, or cannot be used
 */
export async function checkMigrated(url: string, folder: string = migrationsFolder): Promise<void> {
  const file = databaseFile(url)
  const migrations = await readMigrations(folder)
  if (!existsSync(file)) throw missingDatabase(file)
  try {
    const pending = await withConnection(file, (connection) =>
      retryWhileBusy(() => pendingMigrations(connection, file, migrations), { patience: OPEN_PATIENCE }),
    )
    if (pending.length > 0) {
      const names = pending.map(({ name }) => name).join(', ')
      throw new DatabaseError(`${file} needs the migrations ${names}: run "plant-store migrate"`)
    }
  } catch (error) {
    throw toDatabaseError(error, file)
  }
}
