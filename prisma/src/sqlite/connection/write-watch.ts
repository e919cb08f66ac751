import { access, constants, realpath, statfs } from 'node:fs/promises'
import path from 'node:path'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { REQUEST_PATIENCE } from '../../shared/retry.ts'
import { select } from '../../shared/sql.ts'
import type { Connection } from './connect.ts'
import { BUSY_TIMEOUT } from './connection-settings.ts'
import { explainUnavailable, faultOf } from './errors.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

/** Knows whether a write would succeed now. */
export interface WriteWatch {
  /** The connection, with its statements watched. */
  readonly connection: SqlDriverAdapter
  /** Explains in a sentence why a write would fail now; undefined: it would not. Takes up to two seconds. */
  whyUnwritable(): Promise<string | undefined>
  close(): void
}

const READ = /^\s*(?:SELECT|PRAGMA)\b/i
/** Short, so that writers which release the lock only briefly do not look like one that never does. In milliseconds. */
const MAX_PAUSE = 5
/** With less space, in bytes, a write is tried for real. */
const LITTLE_SPACE = 16 * 2 ** 20
/** How often the files are checked without a statement, in milliseconds: less than another process takes to start. */
const CHECK_INTERVAL = 100

/**
 * Watches the statements of a connection to a database file.
 *
 * Each write is checked, before it, to keep it out of a log next to another database, and after it, since only then is it
 * certain to be found again. A read is checked after it: files that are only missing still have everything. Once a file was
 * replaced, or SQLite has found damage, writes are rejected until a restart.
 *
 * A lock is probed with an empty transaction, which writes nothing. Where a statement has failed, or the disk looks full or
 * read-only, one page is written for real: only that shows when the failure is over, since clients stop writing to a server
 * that is not ready.
 */
export function watchWrites(connection: Connection, file: string): WriteWatch {
  let damage: unknown
  /** Whether the last statement failed for another reason than a lock. */
  let failed = false
  let locked = false
  let closed = false
  let lastWrite = 0
  let isLogSaved = false
  const timer = setInterval(findMoved, CHECK_INTERVAL).unref()

  function findMoved() {
    const moved = connection.findMoved()
    // What is only in a log that was deleted would be gone with the process.
    if (moved?.isLogMissing && !isLogSaved) void saveLog()
    if (!moved) isLogSaved = false
    return moved
  }

  async function saveLog(): Promise<void> {
    isLogSaved = true
    try {
      const [result] = await select(connection, 'PRAGMA wal_checkpoint(FULL)')
      isLogSaved = result?.['busy'] === 0
    } catch {
      isLogSaved = false
    }
  }

  function checkFiles(isWrite: boolean): void {
    const moved = findMoved()
    if (moved && (isWrite || moved.isReplaced)) throw moved.error
  }

  async function read<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      const result = await run()
      checkFiles(false)
      return result
    } catch (error) {
      throw noteFailure(error)
    }
  }

  /** An empty transaction shows nothing of the disk unless it fails. */
  async function write<Result>(run: () => Promise<Result>, isEmpty = false): Promise<Result> {
    if (damage) throw damage
    try {
      checkFiles(true)
      const result = await run()
      checkFiles(true)
      if (!isEmpty) {
        failed = false
        lastWrite = performance.now()
      }
      return result
    } catch (error) {
      throw noteFailure(error)
    }
  }

  function noteFailure(error: unknown): unknown {
    const fault = faultOf(error)
    if (fault === 'damaged') damage ??= error
    if (fault !== undefined && fault !== 'locked') failed = true
    return error
  }

  async function tryWrite(): Promise<void> {
    const begin = performance.now()
    const isEmpty = !failed && !(await looksUnwritable(file))
    const attempt = async () => {
      // This process writes too: then the database is writable.
      if (closed || lastWrite >= begin) return
      await write(() => probe(isEmpty), isEmpty)
    }
    // Where it was locked the last time, one look is enough: only that it is free is news.
    await retryWhileBusy(attempt, { patience: locked ? 0 : REQUEST_PATIENCE, maxPause: MAX_PAUSE })
  }

  /** Writes nothing, or one page as it is, without waiting for a lock, which would block the event loop again and again. */
  async function probe(isEmpty: boolean): Promise<void> {
    const [header] = isEmpty ? [] : await select(connection, 'PRAGMA user_version')
    const script = isEmpty ? 'BEGIN IMMEDIATE; ROLLBACK' : `PRAGMA user_version = ${Number(header?.['user_version'])}`
    try {
      await connection.executeScript(`PRAGMA busy_timeout = 0; ${script}`)
    } finally {
      await connection.executeScript(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`)
    }
  }

  return {
    connection: {
      provider: connection.provider,
      adapterName: connection.adapterName,
      queryRaw: (query) => (READ.test(query.sql) ? read : write)(() => connection.queryRaw(query)),
      executeRaw: (query) => write(() => connection.executeRaw(query)),
      executeScript: (script) => write(() => connection.executeScript(script)),
      startTransaction: (isolationLevel) => connection.startTransaction(isolationLevel),
      dispose: () => connection.dispose(),
    },

    async whyUnwritable() {
      try {
        await tryWrite()
        locked = false
        return undefined
      } catch (error) {
        locked = faultOf(error) === 'locked'
        return explainUnavailable(error)
      }
    },

    close() {
      closed = true
      clearInterval(timer)
    },
  }
}

/** Returns whether the disk is nearly full, or a file is immutable, on a read-only disk or not this user's to write. */
async function looksUnwritable(name: string): Promise<boolean> {
  try {
    const file = await realpath(name)
    await Promise.all([file, `${file}-wal`].map((name) => access(name, constants.W_OK)))
    const { bavail, bsize } = await statfs(path.dirname(file))
    return bavail * bsize < LITTLE_SPACE
  } catch {
    return true
  }
}
