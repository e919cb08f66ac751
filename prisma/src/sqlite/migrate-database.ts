import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync } from 'node:fs'
import path from 'node:path'
import type { MigrateOptions } from '../database.ts'
import { DatabaseError } from '../database-error.ts'
import {
  type Migration,
  migrationsFolders,
  pendingMigrations,
  readMigrations,
  rejectPending,
} from '../shared/migrations.ts'
import { OPEN_PATIENCE, type RetryOptions } from '../shared/retry.ts'
import { checkLocks, retryWhileBusy, withConnection } from './connection/connect.ts'
import { DEFAULT_DATABASE_URL, databaseFile } from './connection/database-file.ts'
import { existingFile, toDatabaseError } from './connection/errors.ts'
import { MIGRATION_PATIENCE, migrateFile } from './process/file-tasks.ts'
import { withProcess } from './process/start-process.ts'

/** Migrates a SQLite file, in a process of its own where `onPending` is given: SQLite would block the event loop. */
export async function migrateDatabase(
  url: string,
  folder: string = migrationsFolders.sqlite,
  { onPending, signal }: MigrateOptions = {},
): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(folder)
  let file = databaseFile(url)
  try {
    if (!existsSync(file)) createFile(file)
    file = existingFile(url)
    // SQLite opens a file that it may not write to, and fails only at the first write.
    accessSync(file, constants.R_OK | constants.W_OK)
    accessSync(path.dirname(file), constants.W_OK)
    const pending = await findPending(file, migrations, { patience: MIGRATION_PATIENCE, signal })
    if (pending.length === 0) return { applied: [] }
    if (!onPending) return { applied: await migrateFile(file, migrations) }
    onPending(pending.map(({ name }) => name))
    return { applied: await withProcess(({ run }) => run('migrateFile', [file, migrations], { signal })) }
  } catch (error) {
    signal?.throwIfAborted()
    throw toDatabaseError(error, file)
  }
}

/** Checks that a SQLite file exists and has the newest schema. */
export async function checkMigrated(url: string, folder: string = migrationsFolders.sqlite): Promise<void> {
  const file = existingFile(url)
  const migrations = await readMigrations(folder)
  try {
    rejectPending(file, await findPending(file, migrations, { patience: OPEN_PATIENCE }))
  } catch (error) {
    throw toDatabaseError(error, file)
  }
}

/** Finds the migrations that a file lacks. Waits while another process has locked it. */
function findPending(file: string, migrations: readonly Migration[], options: RetryOptions): Promise<Migration[]> {
  return withConnection(file, (connection) =>
    retryWhileBusy(() => pendingMigrations(connection, file, migrations), options, file),
  )
}

/**
 * Creates an empty file that only its owner may read. The file stays where the migration fails: migrations are one
 * transaction, so the next attempt begins with an empty file too.
 *
 * @throws {DatabaseError} if its folder does not exist, or its disk does not support locks
 */
function createFile(file: string): void {
  const folder = path.dirname(file)
  if (!existsSync(folder)) {
    // The disk of another folder may not be mounted: creating it would put the database on the wrong one.
    if (file !== databaseFile(DEFAULT_DATABASE_URL)) {
      throw new DatabaseError(`${folder} does not exist: create this folder, mount its disk, or check DATABASE_URL`)
    }
    mkdirSync(folder, { recursive: true })
  }
  checkLocks(file)
  // Another process may be faster.
  closeSync(openSync(file, 'a', 0o600))
}
