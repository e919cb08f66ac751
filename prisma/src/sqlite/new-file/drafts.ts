import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { errorCode } from '../../database-error.ts'
import { connect } from '../connection/connect.ts'

/** A file under a temporary name, until it is complete. */
export interface Draft {
  readonly path: string
  /** Removes what is left under the temporary name. */
  remove(): Promise<void>
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const LOCK = '-lock'
const SUFFIXES = ['', '-wal', '-shm', '-journal']

/**
 * Creates an empty draft of `file` that only its owner may read. As long as this process lives, it holds SQLite's lock on
 * a file next to the draft, so that {@link removeStaleDrafts} tells a draft in use from one left behind. The kernel
 * releases that lock with the process, and it holds across containers that share a volume, where process ids say nothing.
 */
export async function createDraft(file: string): Promise<Draft> {
  const draft = `${file}.${randomUUID()}.new`
  closeSync(openSync(draft + LOCK, 'wx', 0o600))
  const unlock = await lock(draft)
  // Another process has taken the lock file for a stale one, before it was locked.
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

/** Removes the drafts of `file` that killed processes have left behind, as far as this user may. */
export async function removeStaleDrafts(file: string): Promise<void> {
  // There, an open file cannot be removed, which is what makes this safe elsewhere.
  if (process.platform === 'win32') return
  for (const draft of findDrafts(file)) {
    try {
      await removeStale(draft)
    } catch {
      // It is another user's: what it takes is space.
    }
  }
}

async function removeStale(draft: string): Promise<void> {
  // A draft has its lock file before it is made and until it is removed.
  if (!existsSync(draft + LOCK)) removeFiles(draft, SUFFIXES)
  const unlock = await lock(draft)
  if (!unlock) return
  // The lock file goes before the lock: its owner checks that it is still there once it has locked it.
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

/** Locks a draft, and gives what unlocks it; undefined where another process has the lock, or has removed it. */
async function lock(draft: string): Promise<(() => Promise<void>) | undefined> {
  if (!existsSync(draft + LOCK)) return undefined
  try {
    const connection = await connect({ url: draft + LOCK, fileMustExist: true, timeout: 0 })
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
    if (/^SQLITE_(BUSY|CANTOPEN)/.test(errorCode(error))) return undefined
    throw error
  }
}
