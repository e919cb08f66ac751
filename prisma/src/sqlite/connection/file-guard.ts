import { realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { DriverAdapterError, type SqlDriverAdapter, type SqlQuery } from '@prisma/driver-adapter-utils'

const READING = /^\s*(?:SELECT|PRAGMA)\b/i
/** The times of files may be no more exact than this, in milliseconds: Linux before 6.13 counts in ticks of 1 to 10. */
const CLOCK_TICK = 20

/** Knows whether the files are still those that were opened. */
export interface FileGuard {
  /** @throws DriverAdapterError with SQLite's own code for this, `SQLITE_READONLY_DBMOVED` */
  check(): void
}

/** Whether a query writes nothing. */
export function isReading({ sql }: SqlQuery): boolean {
  return READING.test(sql)
}

/**
 * Refuses writes once the database file, or its write-ahead log, is no longer the one that the connection has open.
 *
 * In WAL mode SQLite notices neither: it writes on into a file that was deleted or moved away, and what it has
 * committed is gone with the process. So it is checked before a write, lest the log of one database grow beside
 * another, and after it, since only then it is sure that the write can be found again. What was moved and is put back
 * is written to again; beside another file in its place the server has to be restarted. Transactions are checked in
 * each of their statements. Reading goes on.
 *
 * The two files are looked at only when their folder has changed, which takes two microseconds to see. To look at the
 * log each time would take more than its own time: a kernel of 6.13 or later then keeps the time of the next write more
 * exactly, and a durable write takes a fifth longer (measured with Linux 6.18 and ext4).
 */
export function createFileGuard(file: string): FileGuard {
  const real = realpathSync(file)
  const folder = path.dirname(real)
  const opened = [real, `${real}-wal`].map((name) => ({ name, inode: inodeOf(name) }))
  /** When the folder in which both files were found had last changed. */
  let lastChange: number | undefined

  function check(): void {
    const change = statSync(folder, { throwIfNoEntry: false })?.mtimeMs
    if (change !== undefined && change === lastChange) return
    for (const { name, inode } of opened) if (inodeOf(name) !== inode) throw moved(name)
    // Another change in the same tick of the clock could not be told from this one.
    lastChange = change !== undefined && Date.now() - change > CLOCK_TICK ? change : undefined
  }

  return { check }
}

/** Refuses the writes of a connection that {@link createFileGuard} has something against. */
export function guardFiles(connection: SqlDriverAdapter, { check }: FileGuard): SqlDriverAdapter {
  async function guarded<Result>(write: () => Promise<Result>): Promise<Result> {
    check()
    const result = await write()
    check()
    return result
  }

  return {
    provider: connection.provider,
    adapterName: connection.adapterName,
    queryRaw: (query) => (isReading(query) ? connection.queryRaw(query) : guarded(() => connection.queryRaw(query))),
    executeRaw: (query) => guarded(() => connection.executeRaw(query)),
    executeScript: (script) => connection.executeScript(script),
    startTransaction: (isolationLevel) => connection.startTransaction(isolationLevel),
    dispose: () => connection.dispose(),
  }
}

function inodeOf(name: string): string | undefined {
  const stats = statSync(name, { throwIfNoEntry: false })
  return stats && `${stats.dev} ${stats.ino}`
}

function moved(name: string): DriverAdapterError {
  const message = `${name} is not the file that was opened: put that one back, or restart the server`
  return new DriverAdapterError({
    kind: 'sqlite',
    extendedCode: 1032,
    message,
    originalCode: 'SQLITE_READONLY_DBMOVED',
    originalMessage: message,
  })
}
