import { existsSync } from 'node:fs'
import { DatabaseError } from '../database-error.ts'
import { pendingMigrations } from '../migration/migration-history.ts'
import { migrationsFolders, readMigrations } from '../migration/migrations.ts'
import { OPEN_PATIENCE } from '../shared/retry.ts'
import { withConnection } from './connection/connect.ts'
import { databaseFile } from './connection/database-file.ts'
import { missingDatabase, toDatabaseError } from './connection/errors.ts'
import { retryWhileBusy } from './connection/retry-while-busy.ts'

/** Checks that a SQLite file exists and has the newest schema. */
export async function checkMigrated(url: string, folder: string = migrationsFolders.sqlite): Promise<void> {
  const file = databaseFile(url)
  const migrations = await readMigrations(folder)
  if (!existsSync(file)) throw missingDatabase(file)
  try {
    const pending = await withConnection(file, (connection) =>
      retryWhileBusy(() => pendingMigrations(connection, file, migrations), { patience: OPEN_PATIENCE }, file),
    )
    if (pending.length > 0) {
      const names = pending.map(({ name }) => name).join(', ')
      throw new DatabaseError(`${file} needs the migrations ${names}: run "plant-store migrate"`)
    }
  } catch (error) {
    throw toDatabaseError(error, file)
  }
}
