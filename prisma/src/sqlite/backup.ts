import { closeSync, existsSync, linkSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { StorageError } from '../database.ts'
import { retry } from '../patience.ts'
import { belongsTo } from './address.ts'
import { translate } from './errors.ts'
import { startThread } from './writer.ts'

/** How long a copy waits for another process's lock, in milliseconds. */
const COPY_PATIENCE = 5_000
/** What is appended to the name of a copy, for the folder that has it until it is complete. */
const DRAFT_SUFFIX = '.incomplete'

/** Copies a SQLite file, in a thread of its own. */
export async function backup(file: string, copy: string): Promise<void> {
  const folder = path.dirname(copy)
  // The disk of the folder may not be mounted: creating the folder would put the copy on the wrong disk.
  if (!existsSync(folder)) throw new StorageError(`${folder} does not exist: create this folder, or mount its disk`)
  if (belongsTo(file, copy)) {
    throw new StorageError(`${copy} is a file of the database itself: choose another name for the copy`)
  }
  if (existsSync(copy)) throw taken(copy)
  const draftFolder = copy + DRAFT_SUFFIX
  const draft = path.join(draftFolder, path.basename(copy))
  createDraftFolder(draftFolder)
  // A signal may end the process while the thread writes: without its folder, it cannot create the draft again.
  const removeDraft = () => rmSync(draftFolder, { recursive: true, force: true })
  process.prependListener('exit', removeDraft)
  try {
    closeSync(openSync(draft, 'wx', 0o600))
    await writeCopy(file, draft, copy)
    name(draft, copy)
    await syncFolder(folder)
  } catch (error) {
    throw translate(error, copy)
  } finally {
    removeDraft()
    process.off('exit', removeDraft)
  }
}

function taken(copy: string): StorageError {
  return new StorageError(`${copy} already exists: choose another name for the copy`)
}

/** Creates a folder that only its owner may read. */
function createDraftFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw translate(error, folder)
    const reason = 'is left of a backup that was killed, or in use by one that runs: remove it once none runs'
    throw new StorageError(`${folder} ${reason}`)
  }
}

/** Gives a copy its name, unless that is taken: a link fails then. Some disks have no links; renaming replaces a file. */
function name(draft: string, copy: string): void {
  try {
    linkSync(draft, copy)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || existsSync(copy)) throw taken(copy)
    if (!/^(EPERM|ENOTSUP|EOPNOTSUPP|ENOSYS|EMLINK)$/.test(code)) throw error
    renameSync(draft, copy)
  }
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot sync folders, and does not need it.
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

/** Writes and checks a copy. */
async function writeCopy(file: string, draft: string, copy: string): Promise<void> {
  const thread = startThread(file)
  try {
    await retry(() => thread.run('copyFile', file, draft, copy), { patience: COPY_PATIENCE })
    await thread.run('checkCopy', draft)
  } finally {
    await thread.stop()
  }
}
