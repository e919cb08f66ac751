import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs'
import { connect } from './connect.ts'
import { DatabaseError, toDatabaseError } from './database-error.ts'
import { databaseFile } from './database-url.ts'
import { createNewFile } from './new-file.ts'
import { select } from './select.ts'

/**
 * Copies a database to a new file, as it is at one moment, also while others write to it. The copy is checked and on
 * disk before it gets its name, and only its owner may read it.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param copy the path of the new file
 * @throws {DatabaseError} if `copy` exists already, or one of the two files cannot be used
 */
export async function backupDatabase(url: string, copy: string): Promise<void> {
  const file = databaseFile(url)
  const taken = new DatabaseError(`${copy} exists already: choose another name for the copy`)
  if (!existsSync(file)) throw new DatabaseError(`${file} does not exist: there is nothing to copy`)
  if (existsSync(copy)) throw taken
  try {
    const made = await createNewFile(copy, async (draft) => {
      await copyInto(file, draft)
      await check(draft)
      sync(draft)
      return true
    })
    if (!made) throw taken
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
