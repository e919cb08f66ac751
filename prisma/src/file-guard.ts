import { type Stats, statSync } from 'node:fs'
import { DriverAdapterError, type SqlDriverAdapter } from '@prisma/driver-adapter-utils'

const READING = /^\s*(?:SELECT|PRAGMA)\b/i

/**
 * Refuses writes once the database file, or its write-ahead log, is no longer the one that the connection has open.
 *
 * In WAL mode SQLite notices neither: it writes on into a file that was deleted or moved away, and what it has
 * committed is gone with the process. So the paths are compared with what was opened before a write, lest the log of
 * one database grow beside another, and after it, since only then it is sure that the write can be found again; four
 * looks of two microseconds each. What was moved and is put back is written to again; beside another file in its place
 * the server has to be restarted. Transactions are looked at in each of their statements. Reading goes on.
 *
 * @throws DriverAdapterError with SQLite's own code for this, `SQLITE_READONLY_DBMOVED`
 */
export function guardFiles(connection: SqlDriverAdapter, file: string): SqlDriverAdapter {
  const opened = [file, `${file}-wal`].map((path) => ({ path, stats: look(path) }))

  function check(): void {
    for (const { path, stats } of opened) {
      const now = look(path)
      if (now?.ino !== stats?.ino || now?.dev !== stats?.dev) throw moved(path)
    }
  }

  async function guarded<Result>(write: () => Promise<Result>): Promise<Result> {
    check()
    const result = await write()
    check()
    return result
  }

  return {
    provider: connection.provider,
    adapterName: connection.adapterName,
    queryRaw: (query) =>
      READING.test(query.sql) ? connection.queryRaw(query) : guarded(() => connection.queryRaw(query)),
    executeRaw: (query) => guarded(() => connection.executeRaw(query)),
    executeScript: (script) => connection.executeScript(script),
    startTransaction: (isolationLevel) => connection.startTransaction(isolationLevel),
    dispose: () => connection.dispose(),
  }
}

function look(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

function moved(path: string): DriverAdapterError {
  const message = `${path} is not the file that was opened: put that one back, or restart the server`
  return new DriverAdapterError({
    kind: 'sqlite',
    extendedCode: 1032,
    message,
    originalCode: 'SQLITE_READONLY_DBMOVED',
    originalMessage: message,
  })
}
