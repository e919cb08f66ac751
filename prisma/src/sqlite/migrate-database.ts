import { accessSync, constants, existsSync } from 'node:fs'
import path from 'node:path'
import { databaseFile } from '../database-url.ts'
import { migrationsFolder, readMigrations } from '../migration/migrations.ts'
import { toDatabaseError } from './connection/errors.ts'
import { removeStaleDrafts } from './new-file/drafts.ts'
import { createNewFile } from './new-file/new-file.ts'
import { findPending, migrateFile } from './task/migrate-file.ts'
import { runTask } from './task/run-task.ts'

/** How to migrate. */
export interface MigrateOptions {
  /**
   * Called with the names of the pending migrations. They are then applied in a process of their own, so that the event
   * loop stays free however long that takes. Default: they are applied in this process.
   */
  onPending?: (names: string[]) => void
  /** Aborts the migration: nothing on disk has changed then. */
  signal?: AbortSignal | undefined
}

/**
 * Migrates a database to the newest schema, and creates it if it does not exist. All or nothing: if anything fails, nothing
 * on disk has changed. Processes that migrate the same file at the same time wait for each other. With nothing pending it
 * takes a few milliseconds.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param folder where the migrations are
 * @returns the names of the migrations that were applied
 * @throws {DatabaseError} if the database was written by a newer version, is another program's, or cannot be used; the
 *   signal's reason
 */
export async function migrateDatabase(
  url: string,
  folder: string = migrationsFolder,
  { onPending, signal }: MigrateOptions = {},
): Promise<{ applied: string[] }> {
  const file = databaseFile(url)
  const migrations = await readMigrations(folder)
  const migrate = async (location: string): Promise<string[]> => {
    const target = { location, file, migrations }
    if (!onPending) return migrateFile(target)
    const pending = await findPending(target, signal)
    if (pending.length === 0) return []
    onPending(pending.map(({ name }) => name))
    return runTask('migrateFile', target, signal)
  }
  try {
    await removeStaleDrafts(file)
    if (!existsSync(file)) {
      const applied = await createNewFile(file, migrate)
      if (applied) return { applied }
    }
    // SQLite opens a file that it may not write to, and fails only at the first write.
    accessSync(file, constants.R_OK | constants.W_OK)
    accessSync(path.dirname(file), constants.W_OK)
    return { applied: await migrate(file) }
  } catch (error) {
    signal?.throwIfAborted()
    throw toDatabaseError(error, file)
  }
}
