import { access, constants, realpath, statfs } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { errorCode, errorReason } from '../../database-error.ts'
import { select } from '../../select.ts'
import { connect } from './connect.ts'
import { createFileGuard, type FileGuard, guardFiles, isReading } from './file-guard.ts'

/** Knows whether a write would be accepted now. */
export interface WriteWatch {
  /** Guards the files of a connection, and notes how its writes end. */
  attach(connection: SqlDriverAdapter): SqlDriverAdapter
  /** Why a write would be rejected now, in a sentence; undefined: it would be accepted. Takes up to two seconds. */
  whyNotWritable(): Promise<string | undefined>
  close(): Promise<void>
}

/** A connection to try writes on: it never waits for a lock, since that stops the event loop. */
interface Probe {
  connection: SqlDriverAdapter
  /** A statement that writes one page, durably, and changes nothing. */
  write: string
}

/** As long as a request that creates a plant tries, in milliseconds. */
const PATIENCE_MILLISECONDS = 2_000
/** Short, so that writers who release the lock for a moment only are not taken for one who never does. */
const PAUSE_MILLISECONDS = 5
/** Below this, in bytes, a write is tried for real. */
const LITTLE_SPACE = 16 * 2 ** 20

const LOCKED = /^SQLITE_(BUSY|LOCKED)/
const SENTENCES: [code: RegExp, sentence: string][] = [
  [/^SQLITE_READONLY_DBMOVED/, 'The database file was moved, deleted or replaced: put it back, or restart the server.'],
  [LOCKED, 'Another process has locked the database for too long: stop it, or wait for it.'],
  [/^SQLITE_FULL/, 'The disk of the database is full: make room on it.'],
  [/^SQLITE_IOERR/, 'The disk of the database fails: check that it is there and writable.'],
  [/^SQLITE_READONLY/, 'The database is read-only: make its files and their disk writable.'],
]

/**
 * Watches whether a database file can be written to. A lock is tried with an empty transaction, which writes nothing.
 * Where a write has failed, or the disk looks full or read-only, one page is written for real: that alone tells, and it
 * tells when the trouble is over although no client writes any more, since it is told that this server is not ready.
 */
export function createWriteWatch(file: string): WriteWatch {
  let guard: FileGuard | undefined
  let probe: Probe | undefined
  let closed = false
  /** Whether the last write failed for another reason than a lock. */
  let failed = false
  let locked = false
  let lastWrite = 0

  /** What begins or ends a transaction shows nothing of the disk unless it fails. */
  async function noted<Result>(run: () => Promise<Result>, isWrite = true): Promise<Result> {
    try {
      const result = await run()
      if (isWrite) {
        failed = false
        lastWrite = performance.now()
      }
      return result
    } catch (error) {
      if (isFailureOfDisk(error)) failed = true
      throw error
    }
  }

  async function tryWrite({ connection, write }: Probe): Promise<void> {
    const begin = performance.now()
    // Where it was locked the last time, one look is enough: only that it is free is news.
    const end = locked ? begin : begin + PATIENCE_MILLISECONDS
    const script = failed || (await looksUnwritable(file)) ? write : 'BEGIN IMMEDIATE; ROLLBACK'
    while (true) {
      try {
        guard?.check()
        await noted(() => connection.executeScript(script), script === write)
        guard?.check()
        return
      } catch (error) {
        if (!LOCKED.test(errorCode(error)) || closed || performance.now() >= end) throw error
      }
      // Others write, but so does this process.
      if (lastWrite >= begin) return
      await sleep(PAUSE_MILLISECONDS)
    }
  }

  return {
    attach(connection) {
      guard = createFileGuard(file)
      const guarded = guardFiles(connection, guard)
      return {
        ...guarded,
        queryRaw: (query) => (isReading(query) ? guarded.queryRaw(query) : noted(() => guarded.queryRaw(query))),
        executeRaw: (query) => noted(() => guarded.executeRaw(query)),
        executeScript: (script) => noted(() => guarded.executeScript(script), false),
      }
    },

    async whyNotWritable() {
      try {
        guard?.check()
        probe ??= await openProbe(file)
        if (closed) await probe.connection.dispose()
        else await tryWrite(probe)
        locked = false
        return undefined
      } catch (error) {
        const code = errorCode(error)
        locked = LOCKED.test(code)
        return (
          SENTENCES.find(([pattern]) => pattern.test(code))?.[1] ??
          `The database cannot be written: ${errorReason(error)}.`
        )
      }
    },

    async close() {
      closed = true
      await probe?.connection.dispose()
    },
  }
}

/** What a transaction without a write cannot show. */
function isFailureOfDisk(error: unknown): boolean {
  return /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN)/.test(errorCode(error))
}

/** Whether the disk is nearly full, or a file may not be written by this user, is immutable or on a read-only disk. */
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
  const connection = await connect({ url: file, fileMustExist: true, timeout: 0 })
  try {
    await connection.executeScript('PRAGMA synchronous = FULL')
    const [header] = await select(connection, 'PRAGMA user_version')
    return { connection, write: `PRAGMA user_version = ${Number(header?.['user_version'])}` }
  } catch (error) {
    await connection.dispose()
    throw error
  }
}
