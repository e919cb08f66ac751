import { readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { until } from './until.ts'

/** How long another process may hold a lock, in milliseconds: it may install tools. */
const LOCK_TIMEOUT = 300_000

/**
 * Runs an action while no other process does, such as that of another test file.
 *
 * @param lock a path that does not exist: a link to the id of the process. That of a process that was killed does not count
 */
export async function exclusively<T>(lock: string, action: () => Promise<T>): Promise<T> {
  await until(() => acquire(lock), LOCK_TIMEOUT)
  try {
    return await action()
  } finally {
    rmSync(lock)
  }
}

function acquire(lock: string): boolean {
  try {
    symlinkSync(String(process.pid), lock)
    return true
  } catch {
    return removeIfStale(lock)
  }
}

/** Returns false: the lock is not acquired yet. */
function removeIfStale(lock: string): false {
  try {
    process.kill(Number(readlinkSync(lock)), 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') rmSync(lock, { force: true })
  }
  return false
}
