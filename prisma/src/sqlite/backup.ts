import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import path from 'node:path'
import { type OnStep, type Session, StorageError } from '../engine.ts'
import { retry, TIMES } from '../patience.ts'
import { locate, READ_SCHEMA } from './connection.ts'
import { stateError, translate } from './errors.ts'
import { openInThread } from './writer.ts'

/** How often the bytes of a backup are counted, in milliseconds. */
const PROGRESS_INTERVAL = 100

/** The end of the names that SQLite gives the files next to a database: it would take such a backup for one of them. */
const NEXT_TO_DATABASE = /-(wal|shm|journal)$/i

/** Locks a draft until its connection is closed. The journal of what writes to it is in memory, not a file next to it. */
const LOCK = 'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; ROLLBACK'
/** Leaves the draft that it writes to locked, and not the database. */
const READ_DATABASE = `PRAGMA locking_mode = EXCLUSIVE; PRAGMA main.locking_mode = NORMAL; ${READ_SCHEMA}`
/** How often a draft is created that other backups remove. */
const MAX_ATTEMPTS = 5

/**
 * Copies a SQLite file, in threads of its own. A process that is killed leaves a draft, `FILE.incomplete`, which the
 * next backup to this file removes.
 */
export async function backup(file: string, target: string, onStep: OnStep): Promise<void> {
  const folder = path.dirname(target)
  // The disk of the folder may not be mounted: creating the folder would put the backup on the wrong disk.
  if (!existsSync(folder)) throw new StorageError(`${folder} does not exist: create this folder, or mount its disk`)
  if (NEXT_TO_DATABASE.test(target)) {
    throw new StorageError(`${target} has the name of a file that SQLite keeps next to a database: choose another name`)
  }
  if (existsSync(target)) throw taken(target)
  const draft = `${target}.incomplete`
  const sizeOf = (name: string) => statSync(name, { throwIfNoEntry: false })?.size ?? 0
  const reportSize = () => onStep(`copying the database: ${sizeOf(draft)} of at most ${sizeOf(file)} bytes`)
  const timer = setInterval(reportSize, PROGRESS_INTERVAL)
  try {
    const copy = await createDraft(draft)
    let handle: FileHandle | undefined
    try {
      await writeDraft(file, draft, copy)
      // Windows syncs no file that is open to read only.
      handle = await open(draft, 'r+')
      await handle.sync()
      giveName(draft, target)
      await syncFolder(folder).catch((error) => {
        rmSync(target)
        throw error
      })
    } finally {
      await removeDraft(draft, copy)
      // This would end the lock of the whole process.
      await handle?.close()
    }
  } catch (error) {
    // The database is only read, so the disk that is full is that of the target.
    const isFull = error instanceof StorageError && error.fault === 'disk-full'
    throw isFull ? stateError(target, 'SQLITE_FULL', error) : translate(error, target)
  } finally {
    clearInterval(timer)
  }
}

function taken(target: string): StorageError {
  return new StorageError(`${target} already exists: choose another name for the copy`)
}

/** Creates an empty draft and locks it, after removing one that no process has locked. Of several, one does. */
async function createDraft(draft: string): Promise<Session> {
  for (let attempt = 1; ; attempt++) {
    // Only its owner may read it.
    closeSync(openSync(draft, 'a', 0o600))
    try {
      await using opened = new AsyncDisposableStack()
      const copy = opened.use(await openInThread(draft, LOCK, 'shared'))
      // Fails if it has lost its name meanwhile.
      await copy.query(READ_SCHEMA)
      const { size } = statSync(draft)
      if (size === 0) {
        opened.move()
        return copy
      }
      await removeDraft(draft, copy)
    } catch (error) {
      const { fault } = error as StorageError
      if (fault === 'locked') {
        throw new StorageError(`${draft} is being written by another backup: wait for it, or choose another name`)
      }
      // One that is damaged has passed the lock too. Any other may have been removed by another backup meanwhile.
      if (fault === 'damaged') rmSync(draft, { force: true })
      else if (attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** Removes a draft and then ends its lock; on Windows, which removes no file that is open, the other way round. */
async function removeDraft(draft: string, lock: Session): Promise<void> {
  if (process.platform === 'win32') await lock[Symbol.asyncDispose]()
  rmSync(draft, { force: true })
  await lock[Symbol.asyncDispose]()
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
    const handle = await open(folder, 'r')
    await handle.sync().finally(() => handle.close())
  } catch (error) {
    if (/^(EIO|ENOSPC|EDQUOT)$/.test(String((error as NodeJS.ErrnoException).code))) throw error
  }
}

/** Writes and checks a draft. */
async function writeDraft(file: string, draft: string, copy: Session): Promise<void> {
  await using database = await openInThread(file, READ_DATABASE)
  const url = locate(draft, 'rw', 'shared')
  await retry(() => database.query('VACUUM INTO $1', url), TIMES.task)
  const [[problem] = []] = await copy.query('PRAGMA integrity_check')
  if (problem !== 'ok') throw new StorageError(`the copy ${draft} is damaged (${problem}): check the database`)
}
