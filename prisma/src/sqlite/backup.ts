import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, linkSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import path from 'node:path'
import { type OnProgress, StorageError } from '../engine.ts'
import { retry, TIMES } from '../patience.ts'
import { locate, READ_SCHEMA } from './connection.ts'
import { stateError, translate } from './errors.ts'
import { openInThread } from './writer.ts'

/** How often the bytes of a backup are counted, in milliseconds. */
const PROGRESS_INTERVAL = 100

/** The end of the names that SQLite gives the files next to a database: it would take such a backup for one of them. */
const NEXT_TO_DATABASE = /-(wal|shm|journal)$/i

/**
 * Copies a SQLite file, in a thread of its own. A process that is killed leaves a draft, `FILE.incomplete-` and a random
 * name, which the next backup to this file removes. So it does to a draft that another process still writes to, which
 * then fails: of several at the same time, the last to begin is made.
 */
export async function backup(file: string, target: string, onProgress?: OnProgress): Promise<void> {
  const folder = path.dirname(target)
  // The disk of the folder may not be mounted: creating the folder would put the backup on the wrong disk.
  if (!existsSync(folder)) throw new StorageError(`${folder} does not exist: create this folder, or mount its disk`)
  if (NEXT_TO_DATABASE.test(target)) {
    throw new StorageError(`${target} has the name of a file that SQLite keeps next to a database: choose another name`)
  }
  if (existsSync(target)) throw taken(target)
  const draft = `${target}.incomplete-${randomUUID()}`
  try {
    removeAll(`${target}.incomplete`)
    // Only its owner may read it.
    closeSync(openSync(draft, 'wx', 0o600))
    await writeDraft(file, draft, target, onProgress)
    // Windows syncs no file that is open to read only.
    await syncAndClose(await open(draft, 'r+'))
    giveName(draft, target)
    await syncFolder(folder).catch((error) => {
      rmSync(target)
      throw error
    })
  } catch (error) {
    throw translate(error, target)
  } finally {
    removeAll(draft)
  }
}

/** Removes the files whose paths begin like this: a draft has a journal next to it. */
function removeAll(begin: string): void {
  const folder = path.dirname(begin)
  const names = readdirSync(folder).filter((name) => path.join(folder, name).startsWith(begin))
  for (const name of names) rmSync(path.join(folder, name), { force: true })
}

function taken(target: string): StorageError {
  return new StorageError(`${target} already exists: choose another name for the copy`)
}

/** Writes and checks a draft, which is empty. */
async function writeDraft(file: string, draft: string, target: string, onProgress?: OnProgress): Promise<void> {
  const sizeOf = (name: string) => statSync(name, { throwIfNoEntry: false })?.size ?? 0
  const timer = onProgress && setInterval(() => onProgress(sizeOf(draft), sizeOf(file)), PROGRESS_INTERVAL)
  try {
    await using database = await openInThread(file, READ_SCHEMA)
    await retry(() => database.query('VACUUM INTO $1', locate(draft, 'rw')), TIMES.task)
    await database.query('ATTACH $1 AS "copy"', locate(draft, 'ro'))
    const [[problem] = []] = await database.query('PRAGMA "copy".integrity_check')
    if (problem !== 'ok') throw new StorageError(`the copy ${draft} is damaged (${problem}): check the database`)
  } catch (error) {
    if (!existsSync(draft)) throw new StorageError(`${draft} was removed: another backup to ${target} has begun`)
    // The database is only read, so the disk that is full is that of the target.
    throw error instanceof StorageError && error.fault === 'disk-full'
      ? stateError(target, 'SQLITE_FULL', error)
      : error
  } finally {
    clearInterval(timer)
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
  try {
    await syncAndClose(await open(folder, 'r'))
  } catch (error) {
    if (/^(EIO|ENOSPC|EDQUOT)$/.test(String((error as NodeJS.ErrnoException).code))) throw error
  }
}

function syncAndClose(handle: FileHandle): Promise<void> {
  return handle.sync().finally(() => handle.close())
}
