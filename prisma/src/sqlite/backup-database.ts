import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import type { BackupOptions, BackupProgress } from '../database.ts'
import { DatabaseError } from '../database-error.ts'
import { belongsTo, databaseFile } from './connection/database-file.ts'
import { toDatabaseError } from './connection/errors.ts'
import { recordBackup } from './last-backup.ts'
import { removeStaleDrafts } from './new-file/drafts.ts'
import { createNewFile } from './new-file/new-file.ts'
import type { CopyStep } from './task/copy-file.ts'
import { runTask } from './task/run-task.ts'

/** How often progress is reported, in milliseconds. */
const REPORT_INTERVAL = 100

/** Copies a SQLite file, in a process of its own, and records when. */
export async function backupDatabase(
  url: string,
  copy: string,
  { onProgress = () => {}, signal }: BackupOptions = {},
): Promise<{ recorded: boolean }> {
  const file = databaseFile(url)
  const taken = new DatabaseError(`${copy} already exists: choose another name for the copy`)
  if (!existsSync(file)) {
    throw new DatabaseError(
      `${file} does not exist: there is nothing to copy; run "plant-store migrate" to create it, or check DATABASE_URL`,
    )
  }
  const folder = path.dirname(copy)
  // Its disk may not be mounted: creating the folder would put the copy on the wrong one.
  if (!existsSync(folder)) throw new DatabaseError(`${folder} does not exist: create this folder, or mount its disk`)
  if (belongsTo(file, copy)) {
    throw new DatabaseError(`${copy} is a file of the database itself: choose another name for the copy`)
  }
  if (existsSync(copy)) throw taken
  try {
    await removeStaleDrafts(copy)
    const created = await createNewFile(copy, async (draft) => {
      const progress = createProgress(draft, onProgress)
      try {
        await runTask('copyFile', { file, draft, copy }, { onStep: progress.begin, signal })
      } finally {
        progress.end()
      }
      return true
    })
    if (!created) throw taken
    return { recorded: recordBackup(file) }
  } catch (error) {
    signal?.throwIfAborted()
    throw toDatabaseError(error, copy)
  }
}

/** Reports the size of a draft while a statement writes it, since SQLite does not say how far it is. */
function createProgress(draft: string, onProgress: (progress: BackupProgress) => void) {
  let step: CopyStep | undefined
  const report = () => {
    if (step?.phase === 'checking') onProgress({ phase: 'checking' })
    if (step?.phase !== 'copying') return
    const { size } = statSync(draft)
    onProgress({ phase: 'copying', bytes: size, fraction: Math.min(1, size / step.bytes) })
  }
  const timer = setInterval(report, REPORT_INTERVAL)
  return {
    begin(next: CopyStep) {
      step = next
      report()
    },
    end: () => clearInterval(timer),
  }
}
