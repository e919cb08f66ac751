import { existsSync } from 'node:fs'
import path from 'node:path'
import { DatabaseError } from '../database-error.ts'
import { databaseFile } from './connection/database-file.ts'
import { toDatabaseError } from './connection/errors.ts'
import { recordBackup } from './last-backup.ts'
import { removeStaleDrafts } from './new-file/drafts.ts'
import { createNewFile } from './new-file/new-file.ts'
import { runTask } from './task/run-task.ts'

/** Copies a SQLite file, in a process of its own, and records when. */
export async function backupDatabase(url: string, copy: string, signal?: AbortSignal): Promise<{ recorded: boolean }> {
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
    return { recorded: recordBackup(file) }
  } catch (error) {
    signal?.throwIfAborted()
    throw toDatabaseError(error, copy)
  }
}
