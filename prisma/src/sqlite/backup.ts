import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { type OnProgress, StorageError } from '../engine.ts'
import { retry, TIMES } from '../patience.ts'
import { READ_SCHEMA } from './connection.ts'
import { stateError, translate } from './errors.ts'
import { openInThread } from './writer.ts'

/** How often the bytes of a backup are counted, in milliseconds. */
const PROGRESS_INTERVAL = 100

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
  // Another backup may have the same target.
  const draft = `${target}.${randomUUID()}.incomplete`
  const removeDraft = () => {
    for (const file of [draft, `${draft}-journal`]) rmSync(file, { force: true })
  }
  // A signal may end the process while the thread writes. It may create the file again after the first one, and the
  // process may be killed before the second one.
  process.prependListener('exit', removeDraft).on('exit', removeDraft)
  try {
    // Only its owner may read it.
    closeSync(openSync(draft, 'wx', 0o600))
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
  const sizeOf = (name: string) => statSync(name, { throwIfNoEntry: false })?.size ?? 0
  const timer = onProgress && setInterval(() => onProgress(sizeOf(draft), sizeOf(file)), PROGRESS_INTERVAL)
  try {
    await using database = await openInThread(file, { script: READ_SCHEMA })
    await retry(() => database.connection.query('VACUUM INTO $1', draft), TIMES.task)
    await using copy = await openInThread(draft, { script: READ_SCHEMA })
    const [row] = await copy.connection.query('PRAGMA integrity_check')
    const problem = row?.['integrity_check']
    if (problem !== 'ok') throw new StorageError(`the copy ${draft} is damaged (${problem}): check the database`)
  } catch (error) {
    // The database is only read, so the disk that is full is that of the target.
    throw error instanceof StorageError && error.fault === 'disk-full'
      ? stateError(target, 'SQLITE_FULL', error)
      : error
  } finally {
    clearInterval(timer)
  }
}
