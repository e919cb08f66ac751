import { closeSync, fsyncSync, openSync } from 'node:fs'
import { connect } from './connect.ts'
import { DatabaseError, toDatabaseError } from './database-error.ts'
import { select } from './select.ts'

/** What to copy: the database `file`, into `draft`, an empty file. */
export interface Copy {
  readonly file: string
  readonly draft: string
}

/**
 * Copies a database as it is at one moment, checks the copy and syncs it to disk.
 *
 * @throws {DatabaseError} where one of the two files cannot be used, or the copy is damaged
 */
export async function copyFile({ file, draft }: Copy): Promise<void> {
  await copyInto(file, draft)
  await check(draft)
  sync(draft)
}

async function copyInto(file: string, draft: string): Promise<void> {
  const connection = await connect({ url: file, fileMustExist: true })
  try {
    await connection.executeRaw({
      sql: 'VACUUM INTO ?',
      args: [draft],
      argTypes: [{ scalarType: 'string', arity: 'scalar' }],
    })
  } catch (error) {
    throw toDatabaseError(error, file)
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
