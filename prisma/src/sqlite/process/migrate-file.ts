import { existsSync } from 'node:fs'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { DatabaseError } from '../../database-error.ts'
import { applyMigrations } from '../../migration/apply-migrations.ts'
import { pendingMigrations } from '../../migration/migration-history.ts'
import type { Migration } from '../../migration/migrations.ts'
import { select } from '../../shared/sql.ts'
import { withConnection } from '../connection/connect.ts'
import { retryWhileBusy } from '../connection/retry-while-busy.ts'

/** How long to wait for another process that is migrating the same file, in milliseconds. */
const PATIENCE = 60_000

/** What to migrate. */
export interface MigrationTarget {
  readonly file: string
  readonly migrations: readonly Migration[]
}

/**
 * Finds the migrations that a file lacks. Waits while another process has locked it.
 *
 * @throws {DatabaseError} if the database's history does not match the migrations
 */
export function findPending(target: MigrationTarget, signal?: AbortSignal): Promise<Migration[]> {
  return withConnection(target.file, (connection) => selectPending(connection, target, signal))
}

/**
 * Applies the pending migrations to a file, in one transaction.
 *
 * @returns the names of the migrations that were applied
 * @throws {DatabaseError} as {@link findPending} does, or where a migration fails
 */
export function migrateFile(target: MigrationTarget): Promise<string[]> {
  return withConnection(target.file, async (connection) => {
    const pending = await selectPending(connection, target)
    if (pending.length === 0) return []

    // Prisma's migrations replace tables; with foreign keys on, that deletes the rows that refer to them.
    await connection.executeScript('PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL')
    await whenUnlocked(target.file, () => connection.executeScript('BEGIN IMMEDIATE'))
    try {
      const applied = await migrateLocked(connection, target)
      await whenUnlocked(target.file, () => connection.executeScript('COMMIT'))
      return applied
    } catch (error) {
      await rollback(connection)
      throw error
    }
  })
}

async function migrateLocked(connection: SqlDriverAdapter, { file, migrations }: MigrationTarget): Promise<string[]> {
  // The process that created it may have failed, and removed it before it was locked.
  if (!existsSync(file)) throw new DatabaseError(`${file} was removed by another process: retry`)
  // A newer version may have been faster. Where another process of this version was, the engine finds nothing pending.
  await pendingMigrations(connection, file, migrations)
  const applied = await applyMigrations(connection, migrations).catch((error: Error) => {
    throw new DatabaseError(`${file} was not migrated and is unchanged: ${error.message}`, { cause: error.cause })
  })
  const [broken] = await select(connection, 'PRAGMA foreign_key_check')
  if (broken) {
    throw new DatabaseError(
      `${file} was not migrated and is unchanged: rows of ${broken['table']} would refer to missing rows`,
    )
  }
  return applied
}

async function rollback(connection: SqlDriverAdapter): Promise<void> {
  try {
    await connection.executeScript('ROLLBACK')
  } catch {
    // SQLite has rolled back by itself, for example on a full disk. The first error is the one to report.
  }
}

function selectPending(connection: SqlDriverAdapter, { file, migrations }: MigrationTarget, signal?: AbortSignal) {
  return whenUnlocked(file, () => pendingMigrations(connection, file, migrations), signal)
}

function whenUnlocked<Result>(file: string, run: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  return retryWhileBusy(run, { patience: PATIENCE, signal }, file)
}
