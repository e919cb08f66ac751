// What takes long with a whole file: in the database process, so that the event loop of a server stays free.

import { accessSync, closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseError, errorCode } from '../../database-error.ts'
import { applyMigrations, type Migration } from '../../shared/migrations.ts'
import { type Connection, select } from '../../shared/sql.ts'
import { retryWhileBusy, withConnection } from '../connection/connect.ts'
import { toDatabaseError } from '../connection/errors.ts'

/** How long a migration waits for another process that uses the same file, in milliseconds. */
export const MIGRATION_PATIENCE = 60_000
/** How long a copy waits for another process's lock, in milliseconds. Nothing else runs in the process meanwhile. */
const COPY_TIMEOUT = 5_000
/** SQLite's codes for a file that cannot be written. */
const WRITE_FAILURE = /^SQLITE_(FULL|IOERR_(WRITE|FSYNC|DIR_FSYNC|TRUNCATE))/

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

/** Copies a database as it is at one moment, into the empty file `draft`, which is then renamed to `copy`. */
export async function copyFile(file: string, draft: string, copy: string): Promise<void> {
  const run = async ({ sql }: Connection) => {
    // SQLite would create one that nobody removes.
    accessSync(draft)
    await sql.execute('VACUUM INTO $1', draft)
  }
  try {
    await withConnection(file, run, { timeout: COPY_TIMEOUT })
  } catch (error) {
    // The database is only read, so what cannot be written is the copy.
    throw toDatabaseError(error, WRITE_FAILURE.test(errorCode(error)) ? copy : file)
  }
}

/**
 * Checks a copy and syncs it to disk.
 *
 * @throws {DatabaseError} where it is damaged or cannot be used
 */
export async function checkCopy(draft: string, copy: string): Promise<void> {
  try {
    const [result] = await withConnection(draft, (connection) => select(connection, 'PRAGMA integrity_check'))
    const problem = result?.['integrity_check']
    if (problem !== 'ok') throw new DatabaseError(`the copy ${draft} is damaged (${problem}): check the database`)
    sync(draft, 'r+')
  } catch (error) {
    throw toDatabaseError(error, copy)
  }
}

/** Syncs a file or a folder to disk. */
export function sync(name: string, flags: 'r' | 'r+'): void {
  const descriptor = openSync(name, flags)
  fsyncSync(descriptor)
  closeSync(descriptor)
}
