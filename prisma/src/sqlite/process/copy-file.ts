import { accessSync, closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseError, errorCode } from '../../database-error.ts'
import { select } from '../../shared/sql.ts'
import { withConnection } from '../connection/connect.ts'
import type { SqliteConnection } from '../connection/driver-adapter.ts'
import { toDatabaseError } from '../connection/errors.ts'

/** How long to wait for another process's lock, in milliseconds. Nothing else runs in the process meanwhile. */
const TIMEOUT = 5_000
/** SQLite's codes for a file that cannot be written. */
const WRITE_FAILURE = /^SQLITE_(FULL|IOERR_(WRITE|FSYNC|DIR_FSYNC|TRUNCATE))/

/** Copies a database as it is at one moment, into the empty file `draft`, which is then renamed to `copy`. */
export async function copyFile(file: string, draft: string, copy: string): Promise<void> {
  const run = async ({ sql }: SqliteConnection) => {
    // SQLite would create one that nobody removes.
    accessSync(draft)
    await sql.execute('VACUUM INTO $1', draft)
  }
  try {
    await withConnection(file, run, { timeout: TIMEOUT })
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
