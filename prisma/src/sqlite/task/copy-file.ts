import { closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseError, errorCode } from '../../database-error.ts'
import { select } from '../../sql.ts'
import { connect } from '../connection/connect.ts'
import { toDatabaseError } from '../connection/errors.ts'

/** What to copy: the database `file`, into the empty file `draft`. */
export interface Copy {
  readonly file: string
  readonly draft: string
  /** The name that the draft will get, for messages. */
  readonly copy: string
}

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
  const connection = await connect({ url: file, fileMustExist: true })
  try {
    await connection.executeRaw({
      sql: 'VACUUM INTO ?',
      args: [draft],
      argTypes: [{ scalarType: 'string', arity: 'scalar' }],
    })
  } finally {
    await connection.dispose()
  }
}

async function check(draft: string): Promise<void> {
  const connection = await connect({ url: draft, fileMustExist: true })
  try {
    const [result] = await select(connection, 'PRAGMA integrity_check')
    if (result?.['integrity_check'] !== 'ok') {
      throw new DatabaseError(`${draft} would be a damaged copy (${result?.['integrity_check']}): check the database`)
    }
  } finally {
    await connection.dispose()
  }
}

function sync(draft: string): void {
  const descriptor = openSync(draft, 'r+')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
