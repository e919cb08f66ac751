import { access, constants, realpath, statfs } from 'node:fs/promises'
import path from 'node:path'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { REQUEST_PATIENCE } from '../../shared/retry.ts'
import { select } from '../../shared/sql.ts'
import { connect } from './connect.ts'
import { LOG_LIMIT } from './connection-settings.ts'
import { explainUnwritable, isBusy, isDiskFailure } from './errors.ts'
import { createFileGuard } from './file-guard.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

/** Knows whether a write would succeed now. */
export interface WriteWatch {
  /** The connection, with its writes watched. */
  readonly connection: SqlDriverAdapter
  /** Explains in a sentence why a write would fail now; undefined: it would not. Takes up to two seconds. */
  whyUnwritable(): Promise<string | undefined>
  close(): Promise<void>
}

/** A connection to try writes on. It never waits for a lock, since that blocks the event loop. */
interface Probe {
  connection: SqlDriverAdapter
  /** A statement that writes one page, durably, and changes nothing. */
  write: string
}

const READ = /^\s*(?:SELECT|PRAGMA)\b/i
/** Short, so that writers which release the lock only briefly do not look like one that never does. In milliseconds. */
const MAX_PAUSE = 5
/** With less space, in bytes, a write is tried for real. */
const LITTLE_SPACE = 16 * 2 ** 20

/**
 * Watches the writes of a connection to a database file. A lock is probed with an empty transaction, which writes nothing.
 * Where a write has failed, or the disk looks full or read-only, one page is written for real: only that shows when the
 * failure is over, since clients stop writing to a server that is not ready.
 */
export function watchWrites(connection: SqlDriverAdapter, file: string): WriteWatch {
  const checkFiles = createFileGuard(file)
  let probe: Probe | undefined
  let closed = false
  /** Whether the last write failed for another reason than a lock. */
  let failed = false
  let locked = false
  let lastWrite = 0

  /** An empty transaction shows nothing of the disk unless it fails. */
  async function watch<Result>(run: () => Promise<Result>, isWrite = true): Promise<Result> {
    try {
      checkFiles()
      const result = await run()
      checkFiles()
      if (isWrite) {
        failed = false
        lastWrite = performance.now()
      }
      return result
    } catch (error) {
      if (isDiskFailure(error)) failed = true
      throw error
    }
  }

  async function tryWrite({ connection, write }: Probe): Promise<void> {
    const begin = performance.now()
    const script = failed || (await looksUnwritable(file)) ? write : 'BEGIN IMMEDIATE; ROLLBACK'
    const attempt = async () => {
      // This process writes too: then the database is writable.
      if (closed || lastWrite >= begin) return
      await watch(() => connection.executeScript(script), script === write)
    }
    // Where it was locked the last time, one look is enough: only that it is free is news.
    await retryWhileBusy(attempt, { patience: locked ? 0 : REQUEST_PATIENCE, maxPause: MAX_PAUSE })
  }

  return {
    connection: {
      provider: connection.provider,
      adapterName: connection.adapterName,
      queryRaw: (query) =>
        READ.test(query.sql) ? connection.queryRaw(query) : watch(() => connection.queryRaw(query)),
      executeRaw: (query) => watch(() => connection.executeRaw(query)),
      executeScript: (script) => watch(() => connection.executeScript(script)),
      startTransaction: (isolationLevel) => connection.startTransaction(isolationLevel),
      dispose: () => connection.dispose(),
    },

    async whyUnwritable() {
      try {
        checkFiles()
        probe ??= await openProbe(file)
        if (closed) await probe.connection.dispose()
        else await tryWrite(probe)
        locked = false
        return undefined
      } catch (error) {
        locked = isBusy(error)
        return explainUnwritable(error)
      }
    },

    async close() {
      closed = true
      await probe?.connection.dispose()
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

async function openProbe(file: string): Promise<Probe> {
  const connection = await connect(file)
  try {
    await connection.executeScript(`PRAGMA synchronous = FULL; ${LOG_LIMIT}`)
    const [header] = await select(connection, 'PRAGMA user_version')
    return { connection, write: `PRAGMA user_version = ${Number(header?.['user_version'])}` }
  } catch (error) {
    await connection.dispose()
    throw error
  }
}
