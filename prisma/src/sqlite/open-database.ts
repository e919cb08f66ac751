import type { Database, OpenOptions, Retry } from '../database.ts'
import { createOperations } from '../shared/operations.ts'
import { connectOnce, createPrisma, type PrismaStatements, type StatementRunner } from '../shared/prisma-client.ts'
import { OPEN_PATIENCE, REQUEST_PATIENCE } from '../shared/retry.ts'
import type { Access } from '../shared/sql.ts'
import { connectGuarded, retryWhileBusy } from './connection/connect.ts'
import type { SqliteConnection } from './connection/driver-adapter.ts'
import { existingFile, toDatabaseError, toTemporaryFailure } from './connection/errors.ts'
import type { OpenedFile } from './connection/file-guard.ts'
import { readState } from './database-state.ts'
import { type DatabaseProcess, startProcess } from './process/start-process.ts'
import { createReadiness, type Readiness } from './readiness.ts'
import { dialect, statements } from './statements.ts'

/** How long closing may take, in milliseconds: what is committed is in the log, and stays there. */
const CLOSE_PATIENCE = 10_000

/** A SQLite file that is open. */
export interface OpenFile extends Access, Pick<Database, 'whyUnavailable' | 'close'> {}

/** Opens a SQLite file. */
export async function openDatabase(url: string, options?: OpenOptions): Promise<Database> {
  const file = existingFile(url)
  const { whyUnavailable, close, ...access } = await openFile(file, options)
  return {
    engine: 'sqlite',
    ...createOperations(access),
    whyUnavailable,
    failure: toTemporaryFailure,
    state: () => readState(file),
    close,
  }
}

/**
 * Opens a SQLite file that exists, with the settings that durability needs. This process reads the file and never writes to
 * it, not even by closing it; a process of its own writes. The process that writes opens the file first and closes it last: the
 * last connection of a file writes the write-ahead log back into it.
 *
 * @param file its path, without symbolic links
 */
export async function openFile(
  file: string,
  { patience = REQUEST_PATIENCE, onRetry, signal }: OpenOptions = {},
): Promise<OpenFile> {
  const writer = createWriter(file, patience)
  const opening = { patience: OPEN_PATIENCE, signal }
  let reader: SqliteConnection | undefined
  const close = async () => {
    await reader?.dispose()
    await writer.close()
  }
  try {
    // Another process may be migrating, opening or recovering the file.
    const files = await retryWhileBusy(() => writer.open(signal), opening, file)
    // SQLite opens the log and its index at the first query. They must be the files of the writer.
    const begin = ({ sql }: SqliteConnection) => retryWhileBusy(() => sql.query('SELECT 1 FROM sqlite_schema'), opening)
    const { connection, guard } = await connectGuarded(file, { readonly: true }, begin, files)
    reader = connection
    guard.requireAll()
    const readiness = createReadiness(file, connection, guard, (script) => writer.run('executeScript', [script]))
    const retry: Retry = (run) => retryWhileBusy(run, { patience, onRetry })
    return { ...createAccess(connection, writer, readiness, retry), whyUnavailable: readiness.whyUnavailable, close }
  } catch (error) {
    await close()
    signal?.throwIfAborted()
    throw toDatabaseError(error, file)
  }
}

function createAccess(reader: SqliteConnection, writer: Writer, { read, write }: Readiness, retry: Retry): Access {
  /** The connection of the process that writes. */
  const writing: StatementRunner = {
    queryRaw: (query) => writer.run('queryRaw', [query]),
    executeRaw: (query) => writer.run('executeRaw', [query]),
  }
  // What fails because the file is locked has done nothing, and nothing else is repeated.
  const ofPrisma: PrismaStatements = {
    read: (query) => retry(() => read(() => reader.queryRaw(query))),
    write: (run) => retry(() => write(() => run(writing))),
  }
  return {
    sql: {
      query: (statement, ...values) => read(() => reader.sql.query(statement, ...values)),
      execute: (statement, ...values) => write(() => writer.run('execute', [statement, ...values])),
    },
    dialect,
    statements,
    retry,
    loadPrisma: connectOnce(async () => {
      const { PrismaClient } = await import('../generated/sqlite/client.ts')
      return createPrisma(PrismaClient, reader, ofPrisma)
    }),
  }
}

type Writer = ReturnType<typeof createWriter>

/**
 * Creates what writes to a file in a process of its own, which is started again if it has ended.
 *
 * @param patience how long an operation may take, in milliseconds
 */
function createWriter(file: string, patience: number) {
  let process = startProcess()
  let files: readonly OpenedFile[] | undefined
  let closed = false

  function restart(): void {
    const started = startProcess()
    process = started
    // What waits behind it fails for the same reason. The next operation tries again.
    started.run('open', [file, files]).catch(started.kill)
  }

  const run: DatabaseProcess['run'] = (name, args) => {
    if (process.hasEnded() && !closed) restart()
    return process.run(name, args, { patience })
  }

  return {
    run,

    /** Opens the file, and returns its files. */
    async open(signal?: AbortSignal): Promise<readonly OpenedFile[]> {
      files = await process.run('open', [file], { signal })
      return files
    },

    async close(): Promise<void> {
      closed = true
      await process.run('close', [], { patience: CLOSE_PATIENCE }).catch(() => {})
      await process.kill()
    },
  }
}
