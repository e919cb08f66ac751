import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { DEFAULT_DATABASE_URL } from '../base-folder.ts'
import type { MigrateOptions } from '../database.ts'
import { DatabaseError, errorCode } from '../database-error.ts'
import { pendingMigrations, rejectPending } from '../migration/migration-history.ts'
import { migrationsFolders, readMigrations } from '../migration/migrations.ts'
import { OPEN_PATIENCE } from '../shared/retry.ts'
import { checkLocks } from './connection/check-locks.ts'
import { withConnection } from './connection/connect.ts'
import { databaseFile } from './connection/database-file.ts'
import { faultOf, missingDatabase, toDatabaseError } from './connection/errors.ts'
import { retryWhileBusy } from './connection/retry-while-busy.ts'
import { findPending, type MigrationTarget, migrateFile } from './process/migrate-file.ts'
import { withProcess } from './process/start-process.ts'

/** Migrates a SQLite file, in a process of its own where `onPending` is given: SQLite would block the event loop. */
export async function migrateDatabase(
  url: string,
  folder: string = migrationsFolders.sqlite,
  { onPending, signal }: MigrateOptions = {},
): Promise<{ applied: string[] }> {
  const file = databaseFile(url)
  const target = { file, migrations: await readMigrations(folder) }
  let isNew = false
  try {
    if (!existsSync(file)) isNew = createFile(file)
    // SQLite opens a file that it may not write to, and fails only at the first write.
    accessSync(file, constants.R_OK | constants.W_OK)
    accessSync(path.dirname(file), constants.W_OK)
    return { applied: await (onPending ? migrateInProcess(target, onPending, signal) : migrateFile(target)) }
  } catch (error) {
    if (isNew) await removeEmpty(file)
    signal?.throwIfAborted()
    throw toDatabaseError(error, file)
  }
}

/** Checks that a SQLite file exists and has the newest schema. */
export async function checkMigrated(url: string, folder: string = migrationsFolders.sqlite): Promise<void> {
  const file = databaseFile(url)
  const migrations = await readMigrations(folder)
  if (!existsSync(file)) throw missingDatabase(file)
  try {
    const pending = await withConnection(file, (connection) =>
      retryWhileBusy(() => pendingMigrations(connection, file, migrations), { patience: OPEN_PATIENCE }, file),
    )
    rejectPending(file, pending)
  } catch (error) {
    throw toDatabaseError(error, file)
  }
}

async function migrateInProcess(
  target: MigrationTarget,
  onPending: (names: string[]) => void,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const pending = await findPending(target, signal)
  if (pending.length === 0) return []
  onPending(pending.map(({ name }) => name))
  return withProcess(({ run }) => run('migrateFile', [target], { signal }))
}

/**
 * Creates an empty file that only its owner may read: one that a killed process leaves is harmless, since the migrations are
 * one transaction.
 *
 * @returns whether it did not exist yet
 * @throws {DatabaseError} if its folder does not exist, or its disk does not support locks
 */
function createFile(file: string): boolean {
  const folder = path.dirname(file)
  if (!existsSync(folder)) {
    // The disk of another folder may not be mounted: creating it would put the database on the wrong one.
    if (file !== databaseFile(DEFAULT_DATABASE_URL)) {
      throw new DatabaseError(`${folder} does not exist: create this folder, mount its disk, or check DATABASE_URL`)
    }
    mkdirSync(folder, { recursive: true })
  }
  checkLocks(file)
  try {
    closeSync(openSync(file, 'wx', 0o600))
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

/** Removes a file that is still empty, unless another process is migrating it. */
async function removeEmpty(file: string): Promise<void> {
  try {
    await withConnection(file, async (connection) => {
      // A full disk has no room for a journal: then no other process can migrate it either.
      await connection.executeScript('BEGIN EXCLUSIVE').catch((error: unknown) => {
        if (faultOf(error) !== 'disk-full') throw error
      })
      if (statSync(file).size === 0) rmSync(file)
    })
  } catch {
    // Another process has locked it. The error of the migration is the one to report.
  }
}
