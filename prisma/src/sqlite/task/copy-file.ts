import { closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseError, errorCode } from '../../database-error.ts'
import { createSql, select } from '../../shared/sql.ts'
import { withConnection } from '../connection/connect.ts'
import { toDatabaseError } from '../connection/errors.ts'

/** What to copy: the database `file`, into the empty file `draft`. */
export interface Copy {
  readonly file: string
  readonly draft: string
  /** The name that the draft will get, for messages. */
  readonly copy: string
}

/** How long to wait for another process's lock, in milliseconds. Nothing else runs in the process meanwhile. */
const TIMEOUT = 5_000
/** SQLite's codes for a file that cannot be written. */
const WRITE_FAILURE = /^SQLITE_(FULL|IOERR_(WRITE|FSYNC|DIR_FSYNC|TRUNCATE))/

/**
 * Copies a database as it is at one moment, checks the copy and syncs it to disk.
 *
 * @throws {DatabaseError} where one of the two files cannot be used, or the copy is damaged
 */
export async function copyFile({ file, draft, copy }: Copy): Promise<void> {
  try {
    await copyInto(file, draft)
  } catch (error) {
    // The database is only read, so what cannot be written is the copy.
    throw toDatabaseError(error, WRITE_FAILURE.test(errorCode(error)) ? copy : file)
  }
  try {
    await check(draft)
    sync(draft)
  } catch (error) {
    throw toDatabaseError(error, copy)
  }
}

async function copyInto(file: string, draft: string): Promise<void> {
  await withConnection(file, (connection) => createSql(connection).execute('VACUUM INTO ?', draft), TIMEOUT)
}

async function check(draft: string): Promise<void> {
  const [result] = await withConnection(draft, (connection) => select(connection, 'PRAGMA integrity_check'))
  const problem = result?.['integrity_check']
  if (problem !== 'ok') throw new DatabaseError(`the copy ${draft} is damaged (${problem}): check the database`)
}

function sync(draft: string): void {
  const descriptor = openSync(draft, 'r+')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
