import { realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { DriverAdapterError } from '@prisma/driver-adapter-utils'

/** File times are at least this exact, in milliseconds: Linux before 6.13 counts in ticks of 1 to 10. */
const MAX_CLOCK_TICK = 20

/**
 * Creates a check that a database file, and its write-ahead log, are still the ones that were opened.
 *
 * SQLite in WAL mode goes on writing to a file that was deleted or moved, and what it commits is gone with the process.
 * So each write is checked, before it, to keep it out of a log next to another database, and after it, since only then is
 * it certain to be found again. A timer would be shorter, but confirm plants that are lost until it fires.
 *
 * The files are compared only after their folder has changed, which takes two microseconds to see. Reading the log's own
 * times makes Linux 6.13 and newer keep them more exactly, and a durable write a fifth slower (Linux 6.18, ext4).
 *
 * @returns a function that throws DriverAdapterError with SQLite's own code for this, `SQLITE_READONLY_DBMOVED`
 */
export function createFileGuard(file: string): () => void {
  const real = realpathSync(file)
  const folder = path.dirname(real)
  const opened = [real, `${real}-wal`].map((name) => ({ name, inode: inodeOf(name) }))
  let lastChange: number | undefined

  return () => {
    const change = statSync(folder, { throwIfNoEntry: false })?.mtimeMs
    if (change !== undefined && change === lastChange) return
    for (const { name, inode } of opened) if (inodeOf(name) !== inode) throw moved(name)
    // A second change in the same tick has the same time.
    lastChange = change !== undefined && Date.now() - change > MAX_CLOCK_TICK ? change : undefined
  }
}

function inodeOf(name: string): string | undefined {
  const stats = statSync(name, { throwIfNoEntry: false })
  return stats && `${stats.dev} ${stats.ino}`
}

function moved(name: string): DriverAdapterError {
  const originalMessage = `${name} is not the file that was opened: put that one back, or restart the server`
  const originalCode = 'SQLITE_READONLY_DBMOVED'
  return new DriverAdapterError({
    kind: 'sqlite',
    extendedCode: 1032,
    message: originalMessage,
    originalCode,
    originalMessage,
  })
}
