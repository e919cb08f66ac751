import { existsSync } from 'node:fs'
import path from 'node:path'
import { DatabaseError } from '../database-error.ts'
import { databaseFile } from '../database-url.ts'
import { toDatabaseError } from './connection/errors.ts'
import { removeStaleDrafts } from './new-file/drafts.ts'
import { createNewFile } from './new-file/new-file.ts'
import { runTask } from './task/run-task.ts'

/**
 * Copies a database to a new file, as it is at one moment, even while others write to it. The copy is checked and on disk
 * before it gets its name, and only its owner may read it. The event loop stays free.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param copy the path of the new file
 * @param signal aborts the copy and removes what is there of it
 * @throws {DatabaseError} if `copy` exists or its folder does not, or one of the two files cannot be used; the signal's
 *   reason
 */
export async function backupDatabase(url: string, copy: string, signal?: AbortSignal): Promise<void> {
  const file = databaseFile(url)
  const taken = new DatabaseError(`${copy} already exists: choose another name for the copy`)
  if (!existsSync(file)) {
    throw new DatabaseError(
      `${file} does not exist: there is nothing to copy; run "plant-store migrate" to create it, or check DATABASE_URL`,
    )
  }
  if (existsSync(copy)) throw taken
  const folder = path.dirname(copy)
  // Its disk may not be mounted: creating the folder would put the copy on the wrong one.
  if (!existsSync(folder)) throw new DatabaseError(`${folder} does not exist: create this folder, or mount its disk`)
  try {
    await removeStaleDrafts(copy)
    const created = await createNewFile(copy, async (draft) => {
      await runTask('copyFile', { file, draft, copy }, signal)
      return true
    })
    if (!created) throw taken
  } catch (error) {
    signal?.throwIfAborted()
    throw toDatabaseError(error, copy)
  }
}
