import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { errorCode } from '../../database-error.ts'
import { connect } from '../connection/connect.ts'
import { SUFFIXES } from '../connection/database-file.ts'
import { isBusy } from '../connection/errors.ts'

/** A file under a temporary name while it is incomplete. */
export interface Draft {
  readonly path: string
  /** Removes what is left under the temporary name. */
  remove(): Promise<void>
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const LOCK = '-lock'

/**
 * Creates an empty draft of `file` that only its owner may read. This process holds SQLite's lock on a file next to the
 * draft, so that {@link removeStaleDrafts} can tell a draft in use from one left behind. The kernel releases the lock when
 * the process ends, and the lock works across containers that share a volume, where process ids say nothing.
 */
export async function createDraft(file: string): Promise<Draft> {
  const draft = `${file}.${randomUUID()}.new`
  closeSync(openSync(draft + LOCK, 'wx', 0o600))
  const unlock = await lock(draft)
  // Another process has removed the lock file as stale before it was locked.
  if (!unlock) return createDraft(file)

  const removeOnExit = () => removeFiles(draft, [...SUFFIXES, LOCK])
  process.once('exit', removeOnExit)
  closeSync(openSync(draft, 'wx', 0o600))
  return {
    path: draft,
    async remove() {
      process.off('exit', removeOnExit)
      removeFiles(draft, SUFFIXES)
      await unlock()
      removeFiles(draft, [LOCK])
    },
  }
}

/** Removes the drafts of `file` that killed processes have left behind, if this user may. */
export async function removeStaleDrafts(file: string): Promise<void> {
  // An open file cannot be removed there, which this depends on.
  if (process.platform === 'win32') return
  for (const draft of findDrafts(file)) {
    try {
      await removeStale(draft)
    } catch {
      // It belongs to another user, and only takes space.
    }
  }
}

async function removeStale(draft: string): Promise<void> {
  // A lock file is created before its draft and removed after it.
  if (!existsSync(draft + LOCK)) removeFiles(draft, SUFFIXES)
  const unlock = await lock(draft)
  if (!unlock) return
  // The lock file goes before the lock: a process that locks it later checks that it still exists.
  removeFiles(draft, [...SUFFIXES, LOCK])
  await unlock()
}

function findDrafts(file: string): Set<string> {
  const folder = path.dirname(file)
  const names = existsSync(folder) ? readdirSync(folder) : []
  const pattern = new RegExp(`^(\\.${UUID}\\.new)(?:${[...SUFFIXES, LOCK].join('|')})$`)
  const base = path.basename(file)
  const ends = names.map((name) => (name.startsWith(base) ? pattern.exec(name.slice(base.length))?.[1] : undefined))
  return new Set(ends.filter((end) => end !== undefined).map((end) => file + end))
}

function removeFiles(draft: string, suffixes: readonly string[]): void {
  for (const suffix of suffixes) rmSync(draft + suffix, { force: true })
}

/** Locks a draft and returns a function that unlocks it; undefined if another process has the lock or removed it. */
async function lock(draft: string): Promise<(() => Promise<void>) | undefined> {
  if (!existsSync(draft + LOCK)) return undefined
  try {
    const connection = await connect(draft + LOCK)
    const unlock = () => connection.dispose()
    try {
      await connection.executeScript('BEGIN EXCLUSIVE')
      if (existsSync(draft + LOCK)) return unlock
    } catch (error) {
      await unlock()
      throw error
    }
    await unlock()
    return undefined
  } catch (error) {
    if (isBusy(error) || errorCode(error).startsWith('SQLITE_CANTOPEN')) return undefined
    throw error
  }
}
