import { closeSync, fsyncSync, openSync } from 'node:fs'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
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

/** What a copy begins to do. */
export interface CopyStep {
  readonly phase: 'copying' | 'checking'
  /** The size of the database without its unused pages: about that of the copy. */
  readonly bytes: number
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
export async function copyFile({ file, draft, copy }: Copy, onStep: (step: CopyStep) => void): Promise<void> {
  try {
    const bytes = await withConnection(file, measure, TIMEOUT)
    onStep({ phase: 'copying', bytes })
    await copyInto(file, draft)
    onStep({ phase: 'checking', bytes })
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

async function measure(connection: SqlDriverAdapter): Promise<number> {
  const pragma = async (name: string) => Number((await select(connection, `PRAGMA ${name}`))[0]?.[name])
  const [pages, unused, size] = [await pragma('page_count'), await pragma('freelist_count'), await pragma('page_size')]
  return (pages - unused) * size
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
