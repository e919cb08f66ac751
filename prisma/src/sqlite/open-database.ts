import { access, constants, statfs } from 'node:fs/promises'
import path from 'node:path'
import type { SqlDriverAdapter, SqlQuery } from '@prisma/driver-adapter-utils'
import type { Database, OpenOptions } from '../database.ts'
import { createOperations } from '../shared/operations.ts'
import { OPEN_PATIENCE, REQUEST_PATIENCE } from '../shared/retry.ts'
import { createSql, type Prisma, type Sql, select } from '../shared/sql.ts'
import { connect } from './connection/connect.ts'
import { checkTriggers } from './connection/connection-settings.ts'
import { existingFile, explainUnavailable, faultOf, toDatabaseError, toTemporaryFailure } from './connection/errors.ts'
import { createFileGuard, type FileGuard } from './connection/file-guard.ts'
import { retryWhileBusy } from './connection/retry-while-busy.ts'
import { readState } from './database-state.ts'
import { createWriter, type Writer } from './process/writer.ts'
import { dialect, plantStatements } from './statements.ts'

/** A SQLite file that is open. Statements that belong together are written as one: transactions are rejected. */
export interface SqliteClient {
  readonly sql: Sql
  /** Loads Prisma Client on the same connections. */
  loadPrisma(): Promise<Prisma>
  whyUnavailable: Database['whyUnavailable']
  /** Closes it. The last connection of a file writes the write-ahead log back into it. */
  close(): Promise<void>
}

const READ = /^\s*(?:SELECT|PRAGMA)\b/i
/** Short, so that writers which release the lock only briefly do not look like one that never does. In milliseconds. */
const MAX_PAUSE = 5
/** With less space, in bytes, a write is tried for real. */
const LITTLE_SPACE = 16 * 2 ** 20

/** Opens a SQLite file. */
export async function openDatabase(url: string, options: OpenOptions = {}): Promise<Database> {
  const file = existingFile(url)
  const { patience = REQUEST_PATIENCE, onRetry, signal } = options
  try {
    const { loadPrisma, sql, whyUnavailable, close } = await connectClient(file, signal, patience)
    const retry = <Result>(run: () => Promise<Result>) => retryWhileBusy(run, { patience, onRetry })
    return {
      engine: 'sqlite',
      ...createOperations(plantStatements, { sql, dialect, retry, loadPrisma }),
      whyUnavailable,
      failure: toTemporaryFailure,
      state: () => readState(file),
      close,
    }
  } catch (error) {
    signal?.throwIfAborted()
    throw toDatabaseError(error, file)
  }
}

/**
 * Opens a SQLite file that exists, with the settings that durability needs. This process reads it, and never writes to it,
 * also not by closing it; a process of its own writes.
 *
 * @param file its path, without symbolic links
 * @param signal aborts waiting for a file that another process has locked
 * @param patience how long a statement waits for a disk that does not respond, in milliseconds
 */
export async function connectClient(
  file: string,
  signal?: AbortSignal,
  patience: number = REQUEST_PATIENCE,
): Promise<SqliteClient> {
  const writer = createWriter(file, patience)
  let reader: SqlDriverAdapter | undefined
  try {
    // Another process may be migrating, opening or recovering the file.
    const files = await retryWhileBusy(() => writer.open(signal), { patience: OPEN_PATIENCE, signal }, file)
    reader = connect(file, { readonly: true })
    const findMoved = createFileGuard(files)
    await retryWhileBusy(() => openFiles(reader as SqlDriverAdapter, findMoved), { patience: OPEN_PATIENCE, signal })
    return createClient(file, writer, watchReads(reader, findMoved), patience)
  } catch (error) {
    await reader?.dispose()
    await writer.close()
    throw error
  }
}

/** SQLite opens the log and its index at the first query. They must be the files of the writer. */
async function openFiles(reader: SqlDriverAdapter, findMoved: FileGuard): Promise<void> {
  await select(reader, 'SELECT 1 FROM sqlite_schema')
  const moved = findMoved()
  if (moved) throw moved.error
}

/**
 * Checks the files after each read, also one that fails: those that are only missing still have everything, but where one
 * was replaced, another process may write what this one cannot see.
 */
function watchReads(reader: SqlDriverAdapter, findMoved: FileGuard): SqlDriverAdapter {
  return {
    ...reader,
    queryRaw: (query) =>
      reader.queryRaw(query).finally(() => {
        const moved = findMoved()
        if (moved?.isReplaced) throw moved.error
      }),
  }
}

/**
 * A lock is probed with an empty transaction, which writes nothing. Where a statement has failed, or the disk looks full or
 * read-only, one page is written for real: only that shows when the failure is over, since clients stop writing to a server
 * that is not ready.
 */
function createClient(file: string, writer: Writer, reader: SqlDriverAdapter, patience: number): SqliteClient {
  /** Damage that was found, after which nothing is written until a restart. */
  let damage: unknown
  /** Whether the last statement failed for another reason than a lock. */
  let failed = false
  let locked = false
  let lastWrite = 0

  async function watch<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      return await run()
    } catch (error) {
      const fault = faultOf(error)
      if (fault === 'damaged') damage ??= error
      if (fault !== undefined && fault !== 'locked') failed = true
      throw error
    }
  }

  /** An empty transaction shows nothing of the disk unless it fails. */
  function write<Result>(run: () => Promise<Result>, isEmpty = false): Promise<Result> {
    return watch(async () => {
      if (damage) throw damage
      const result = await run()
      if (!isEmpty) {
        failed = false
        lastWrite = performance.now()
      }
      return result
    })
  }

  const connection: SqlDriverAdapter = {
    ...reader,
    queryRaw: (query: SqlQuery) =>
      READ.test(query.sql) ? watch(() => reader.queryRaw(query)) : write(() => writer.run('queryRaw', [query])),
    executeRaw: (query) => write(() => writer.run('executeRaw', [query])),
    executeScript: (script) => write(() => writer.run('executeScript', [script])),
    dispose: close,
  }

  async function tryBoth(): Promise<void> {
    await select(connection, 'SELECT "seq" FROM "Plant" LIMIT 1')
    await checkTriggers(reader, file)
    const begin = performance.now()
    const isEmpty = !failed && !(await looksUnwritable(file))
    const [header] = await select(reader, 'PRAGMA user_version')
    const script = isEmpty ? 'BEGIN IMMEDIATE; ROLLBACK' : `PRAGMA user_version = ${Number(header?.['user_version'])}`
    const attempt = async () => {
      // This process writes too: then the database is writable.
      if (lastWrite < begin) await write(() => writer.run('executeScript', [script]), isEmpty)
    }
    // Where it was locked the last time, one look is enough: only that it is free is news.
    await retryWhileBusy(attempt, { patience: locked ? 0 : REQUEST_PATIENCE, maxPause: MAX_PAUSE })
  }

  async function close(): Promise<void> {
    // The last connection, which writes the log back, is that of the writer.
    await reader.dispose()
    await writer.close()
  }

  let prisma: Promise<Prisma> | undefined
  return {
    sql: createSql(connection),
    loadPrisma() {
      prisma ??= createPrisma(connection, patience)
      return prisma
    },

    async whyUnavailable() {
      try {
        await tryBoth()
        locked = false
        return undefined
      } catch (error) {
        locked = faultOf(error) === 'locked'
        return explainUnavailable(error)
      }
    },

    close,
  }
}

/** Creates Prisma Client, whose statements are retried while the database is locked: only then have they done nothing. */
async function createPrisma(connection: SqlDriverAdapter, patience: number): Promise<Prisma> {
  const { PrismaClient } = await import('../generated/sqlite/client.ts')
  const { provider, adapterName, queryRaw, executeRaw } = connection
  const retrying: SqlDriverAdapter = {
    ...connection,
    queryRaw: (query) => retryWhileBusy(() => queryRaw(query), { patience }),
    executeRaw: (query) => retryWhileBusy(() => executeRaw(query), { patience }),
  }
  const adapter = { provider, adapterName, connect: async () => retrying }
  // The default format quotes the source code around the call.
  return new PrismaClient({ adapter, errorFormat: 'minimal' })
}

/** Returns whether the disk is nearly full, or a file is immutable, on a read-only disk or not this user's to write. */
async function looksUnwritable(file: string): Promise<boolean> {
  try {
    await Promise.all([file, `${file}-wal`].map((name) => access(name, constants.W_OK)))
    const { bavail, bsize } = await statfs(path.dirname(file))
    return bavail * bsize < LITTLE_SPACE
  } catch {
    return true
  }
}
