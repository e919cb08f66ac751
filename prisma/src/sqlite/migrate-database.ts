import { accessSync, constants, existsSync } from 'node:fs'
import path from 'node:path'
import { toDatabaseError } from '../database-error.ts'
import { databaseFile } from '../database-url.ts'
import { migrationsFolder, readMigrations } from '../migration/migrations.ts'
import { removeStaleDrafts } from './new-file/drafts.ts'
import { createNewFile } from './new-file/new-file.ts'
import { findPending, migrateFile } from './task/migrate-file.ts'
import { runTask } from './task/run-task.ts'

/** How to migrate. */
export interface MigrateOptions {
  /**
   * Called with the names of the migrations that are pending, before they are applied in a process of its own, so that
   * the event loop is free however long that takes. Left out: they are applied in this process.
   */
  onPending?: (names: string[]) => void
  /** Ends it: nothing on disk has changed then. */
  signal?: AbortSignal | undefined
}

/**
 * Brings the database to the newest schema, creating it if there is none. All or nothing: if anything fails, nothing
 * on disk has changed. Processes that start at once on the same file wait for each other. With nothing to do it
 * takes a few milliseconds.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param folder where the migrations are
 * @returns the names of the migrations that were applied
 * @throws {DatabaseError} if the database was written by a newer version, is another program's, or cannot be used; the
 *   reason of the signal
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
    // SQLite would open a file that it may not write, and only later fail to write it.
    accessSync(file, constants.R_OK | constants.W_OK)
    accessSync(path.dirname(file), constants.W_OK)
    return { applied: await migrate(file) }
  } catch (error) {
    signal?.throwIfAborted()
    throw toDatabaseError(error, file)
  }
}
