import { accessSync, constants, existsSync } from 'node:fs'
import path from 'node:path'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { applyMigrations } from './apply-migrations.ts'
import { connect } from './connect.ts'
import { DatabaseError, toDatabaseError } from './database-error.ts'
import { databaseFile } from './database-url.ts'
import { pendingMigrations } from './migration-history.ts'
import { type Migration, migrationsFolder, readMigrations } from './migrations.ts'
import { createNewFile } from './new-file.ts'
import { select } from './select.ts'
import { whenFree } from './when-free.ts'

/** How long to wait for another process that is migrating the same file. */
const LOCK_WAIT_MILLISECONDS = 60_000

/**
 * Brings the database to the newest schema, creating it if there is none. All or nothing: if anything fails, nothing
 * on disk has changed. Processes that start at once on the same file wait for each other. With nothing to do it
 * takes a few milliseconds.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param folder where the migrations are
 * @returns the names of the migrations that were applied
 * @throws {DatabaseError} if the database was written by a newer version, is another program's, or cannot be used
 */
export async function migrateDatabase(url: string, folder: string = migrationsFolder): Promise<{ applied: string[] }> {
  const file = databaseFile(url)
  const migrations = await readMigrations(folder)
  const migrate = (location: string) => migrateFile(location, file, migrations)
  try {
    if (!existsSync(file)) {
      const applied = await createNewFile(file, migrate)
      if (applied) return { applied }
    }
    // SQLite would open a file that it may not write, and only later fail to write it.
    accessSync(file, constants.R_OK | constants.W_OK)
    accessSync(path.dirname(file), constants.W_OK)
    return { applied: await migrate(file) }
  } catch (error) {
    throw toDatabaseError(error, file)
  }
}

/** Migrates the file at `location`; messages call it `file`. */
async function migrateFile(location: string, file: string, migrations: Migration[]): Promise<string[]> {
  const connection = await connect({ url: location, fileMustExist: true, timeout: 0 })
  try {
    const pending = await whenUnlocked(() => pendingMigrations(connection, file, migrations))
    if (pending.length === 0) return []

    // Prisma's migrations replace tables; with foreign keys on, that would delete the rows that refer to them.
    await connection.executeScript('PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL')
    await whenUnlocked(() => connection.executeScript('BEGIN IMMEDIATE'))
    try {
      const applied = await migrateLocked(connection, file, migrations)
      await whenUnlocked(() => connection.executeScript('COMMIT'))
      return applied
    } catch (error) {
      await rollback(connection)
      throw error
    }
  } finally {
    await connection.dispose()
  }
}

async function migrateLocked(connection: SqlDriverAdapter, file: string, migrations: Migration[]): Promise<string[]> {
  // A newer version may have been faster; where another process of this version was, the engine finds nothing to do.
  await pendingMigrations(connection, file, migrations)
  const applied = await applyMigrations(connection, migrations).catch((error: Error) => {
    throw new DatabaseError(`${file} was not migrated and is as it was: ${error.message}`, { cause: error.cause })
  })
  const [broken] = await select(connection, 'PRAGMA foreign_key_check')
  if (broken) {
    throw new DatabaseError(
      `${file} was not migrated and is as it was: rows of ${broken['table']} would refer to rows that are missing`,
    )
  }
  return applied
}

async function rollback(connection: SqlDriverAdapter): Promise<void> {
  try {
    await connection.executeScript('ROLLBACK')
  } catch {
    // On a full disk and the like SQLite has rolled back by itself. The error before is the one to tell.
  }
}

function whenUnlocked<Result>(operation: () => Promise<Result>): Promise<Result> {
  return whenFree(operation, LOCK_WAIT_MILLISECONDS)
}
