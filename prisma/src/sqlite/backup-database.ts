import { existsSync } from 'node:fs'
import path from 'node:path'
import { DatabaseError, toDatabaseError } from '../database-error.ts'
import { databaseFile } from '../database-url.ts'
import { removeStaleDrafts } from './new-file/drafts.ts'
import { createNewFile } from './new-file/new-file.ts'
import { runTask } from './task/run-task.ts'

/**
 * Copies a database to a new file, as it is at one moment, also while others write to it. The copy is checked and on
 * disk before it gets its name, and only its owner may read it. Meanwhile the event loop is free.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param copy the path of the new file
 * @param signal ends it: nothing is left of the copy
 * @throws {DatabaseError} if `copy` exists already or its folder does not, or one of the two files cannot be used; the
 *   reason of the signal
 */
export async function backupDatabase(url: string, copy: string, signal?: AbortSignal): Promise<void> {
  const file = databaseFile(url)
  const taken = new DatabaseError(`${copy} exists already: choose another name for the copy`)
  if (!existsSync(file)) {
    throw new DatabaseError(
      `${file} does not exist: there is nothing to copy; run "plant-store migrate" to create it, or check DATABASE_URL`,
    )
  }
  if (existsSync(copy)) throw taken
  const folder = path.dirname(copy)
  // Its disk may not be mounted: a copy on another disk is not the one that was asked for.
  if (!existsSync(folder)) throw new DatabaseError(`${folder} does not exist: create this folder, or mount its disk`)
  try {
    await removeStaleDrafts(copy)
    const made = await createNewFile(copy, async (draft) => {
      await runTask('copyFile', { file, draft, copy }, signal)
      return true
    })
    if (!made) throw taken
  } catch (error) {
    signal?.throwIfAborted()
    throw toDatabaseError(error, copy)
  }
}
