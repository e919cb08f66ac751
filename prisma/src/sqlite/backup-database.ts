import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import type { BackupOptions } from '../database.ts'
import { DatabaseError, errorCode } from '../database-error.ts'
import { checkLocks } from './connection/connect.ts'
import { belongsTo } from './connection/database-file.ts'
import { existingFile, toDatabaseError } from './connection/errors.ts'
import { inodeOf } from './connection/file-guard.ts'
import { recordBackup } from './database-state.ts'
import { sync } from './process/file-tasks.ts'
import { withProcess } from './process/start-process.ts'

/** How often progress is reported, in milliseconds. */
const REPORT_INTERVAL = 100
/** What is appended to the name of a copy until it is complete. */
const DRAFT_SUFFIX = '.incomplete'

/** Copies a SQLite file, in a process of its own, and records when. */
export async function backupDatabase(
  url: string,
  copy: string,
  options: BackupOptions = {},
): Promise<{ recorded: boolean }> {
  const file = existingFile(url)
  const draft = copy + DRAFT_SUFFIX
  const folder = path.dirname(copy)
  // The disk of the folder may not be mounted: creating the folder would put the copy on the wrong disk.
  if (!existsSync(folder)) throw new DatabaseError(`${folder} does not exist: create this folder, or mount its disk`)
  const owned = [copy, draft].find((name) => belongsTo(file, name))
  if (owned) throw new DatabaseError(`${owned} is a file of the database itself: choose another name for the copy`)
  if (existsSync(copy)) throw taken(copy)
  try {
    create(draft, `${draft} is left of a backup that was killed, or in use by one that runs: remove it once none runs`)
    const inode = inodeOf(draft)
    const checkDraft = () => {
      if (inodeOf(draft) === inode) return
      throw new DatabaseError(`${draft} was removed or replaced while it was written: run the backup again`)
    }
    try {
      await writeCopy(file, draft, copy, options)
      checkDraft()
      // Take the name first, since renaming replaces a file that has it. A hard link would not, but some disks have none.
      create(copy, taken(copy).message)
      rename(draft, copy)
    } catch (error) {
      // A draft that is gone explains every other error.
      checkDraft()
      throw error
    } finally {
      // A file in place of the draft belongs to another backup.
      const isOwn = [inode, undefined].includes(inodeOf(draft))
      for (const suffix of isOwn ? ['', '-journal'] : []) rmSync(draft + suffix, { force: true })
    }
    // Windows cannot sync folders, and does not need it.
    if (process.platform !== 'win32') sync(folder, 'r')
    return { recorded: recordBackup(file) }
  } catch (error) {
    options.signal?.throwIfAborted()
    throw toDatabaseError(error, copy)
  }
}

function taken(copy: string): DatabaseError {
  return new DatabaseError(`${copy} already exists: choose another name for the copy`)
}

/** Replaces the empty file that has taken the name, and removes it if that fails. */
function rename(draft: string, copy: string): void {
  try {
    renameSync(draft, copy)
  } catch (error) {
    rmSync(copy, { force: true })
    throw error
  }
}

/** Creates an empty file that only its owner may read. */
function create(name: string, unless: string): void {
  try {
    closeSync(openSync(name, 'wx', 0o600))
  } catch (error) {
    throw errorCode(error) === 'EEXIST' ? new DatabaseError(unless) : error
  }
}

/** Writes and checks a copy. SQLite does not say how far a statement is, so the size of the draft is compared. */
function writeCopy(file: string, draft: string, copy: string, options: BackupOptions): Promise<void> {
  const { onProgress = () => {}, signal } = options
  checkLocks(copy)
  return withProcess(async ({ run, kill }) => {
    async function reportWhile(report: () => void, running: Promise<unknown>): Promise<void> {
      const reportOrFail = () => {
        try {
          report()
        } catch (error) {
          void kill(error as Error)
        }
      }
      reportOrFail()
      const timer = setInterval(reportOrFail, REPORT_INTERVAL)
      await running.finally(() => clearInterval(timer))
    }
    const { size } = statSync(file)
    const reportCopied = () => {
      const bytes = statSync(draft).size
      onProgress({ phase: 'copying', bytes, fraction: Math.min(1, bytes / size) })
    }
    await reportWhile(reportCopied, run('copyFile', [file, draft, copy], { signal }))
    await reportWhile(() => onProgress({ phase: 'checking' }), run('checkCopy', [draft, copy], { signal }))
  })
}
