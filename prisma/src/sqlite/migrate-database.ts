import { accessSync, constants, existsSync } from 'node:fs'
import path from 'node:path'
import type { MigrateOptions } from '../database.ts'
import { migrationsFolders, readMigrations } from '../migration/migrations.ts'
import { databaseFile } from './connection/database-file.ts'
import { toDatabaseError } from './connection/errors.ts'
import { removeStaleDrafts } from './new-file/drafts.ts'
import { createNewFile } from './new-file/new-file.ts'
import { findPending, migrateFile } from './task/migrate-file.ts'
import { runTask } from './task/run-task.ts'

/** Migrates a SQLite file, in a process of its own where `onPending` is given: SQLite would block the event loop. */
export async function migrateDatabase(
  url: string,
  folder: string = migrationsFolders.sqlite,
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
    return runTask('migrateFile', target, { signal })
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
