import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { type OnProgress, StorageError } from '../engine.ts'
import { retry } from '../patience.ts'
import { translate } from './errors.ts'
import { startThread } from './thread.ts'

/** How long a backup waits for another process's lock, in milliseconds. */
const BACKUP_PATIENCE = 5_000
/** How often the bytes of a backup are counted, in milliseconds. */
const PROGRESS_INTERVAL = 100
/** What is appended to the name of a backup until it is complete. */
const DRAFT_SUFFIX = '.incomplete'

/** The end of the names that SQLite gives the files next to a database: it would take such a backup for one of them. */
const NEXT_TO_DATABASE = /-(wal|shm|journal)$/i

/** Copies a SQLite file, in a thread of its own. */
export async function backup(file: string, target: string, onProgress?: OnProgress): Promise<void> {
  const folder = path.dirname(target)
  // The disk of the folder may not be mounted: creating the folder would put the backup on the wrong disk.
  if (!existsSync(folder)) throw new StorageError(`${folder} does not exist: create this folder, or mount its disk`)
  if (NEXT_TO_DATABASE.test(target)) {
    throw new StorageError(`${target} has the name of a file that SQLite keeps next to a database: choose another name`)
  }
  if (existsSync(target)) throw taken(target)
  const draft = createDraft(target + DRAFT_SUFFIX)
  const removeDraft = () => {
    for (const file of [draft, `${draft}-journal`]) rmSync(file, { force: true })
  }
  // A signal may end the process while the thread writes. It may create the file again after the first one, and the
  // process may be killed before the second one.
  process.prependListener('exit', removeDraft).on('exit', removeDraft)
  try {
    await writeDraft(file, draft, target, onProgress)
    await sync(draft, 'r+')
    giveName(draft, target)
    await syncFolder(folder).catch((error) => {
      rmSync(target)
      throw error
    })
  } catch (error) {
    throw translate(error, target)
  } finally {
    removeDraft()
    process.off('exit', removeDraft).off('exit', removeDraft)
  }
}

function taken(target: string): StorageError {
  return new StorageError(`${target} already exists: choose another name for the copy`)
}

/** Creates an empty file that only its owner may read. */
function createDraft(draft: string): string {
  try {
    closeSync(openSync(draft, 'wx', 0o600))
    return draft
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw translate(error, draft)
    const reason = 'is left of a backup that was killed, or in use by one that runs: remove it once none runs'
    throw new StorageError(`${draft} ${reason}`)
  }
}

/**
 * Gives a draft its name, unless that is taken: a link fails then. Some disks have no links; renaming replaces a file.
 */
function giveName(draft: string, target: string): void {
  try {
    linkSync(draft, target)
  } catch {
    if (existsSync(target)) throw taken(target)
    renameSync(draft, target)
  }
}

/** Makes the names in a folder survive a power failure. Network disks and Windows cannot sync folders. */
export async function syncFolder(folder: string): Promise<void> {
  await sync(folder, 'r').catch((error) => {
    if (/^(EIO|ENOSPC|EDQUOT)$/.test(error.code)) throw error
  })
}

/** @param flags how to open it: Windows syncs no file that is open to read only, and nothing writes to a folder */
async function sync(name: string, flags: 'r' | 'r+'): Promise<void> {
  const handle = await open(name, flags)
  await handle.sync().finally(() => handle.close())
}

/** Writes and checks a draft. */
async function writeDraft(file: string, draft: string, target: string, onProgress?: OnProgress): Promise<void> {
  const thread = startThread()
  const sizeOf = (name: string) => statSync(name, { throwIfNoEntry: false })?.size ?? 0
  const timer = onProgress && setInterval(() => onProgress(sizeOf(draft), sizeOf(file)), PROGRESS_INTERVAL)
  try {
    await retry(() => thread.copyFile(file, draft, target), { patience: BACKUP_PATIENCE })
  } finally {
    clearInterval(timer)
    await thread.close()
  }
}
