// A thread that uses SQLite for the thread that started it, see `startThread`.

import { parentPort, workerData } from 'node:worker_threads'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { type Connection, StorageError, select, toQuery } from '../engine.ts'
import { connect } from './driver-adapter.ts'
import { stateError, toPlainError, translate } from './errors.ts'
import { connectGuarded, type GuardedConnection, type OpenedFiles } from './file-guard.ts'

/** How often the files are checked without a statement, in milliseconds: less than another process takes to start. */
const CHECK_INTERVAL = 100
/** How long a statement waits for another process's lock, in milliseconds, before it is worth a retry. */
const BUSY_TIMEOUT = 100
/** SQLite's codes for a file that cannot be written. */
const WRITE_FAILURE = /^SQLITE_(FULL|IOERR_(WRITE|FSYNC|DIR_FSYNC|TRUNCATE))/
/**
 * FULL: what is committed survives a power failure. The driver's default is NORMAL, which does not promise that, and
 * the file does not store it. The write-ahead log goes back into the file at 4,000 pages, 16 MB: SQLite's default of
 * 1,000 costs a third of the plants a second. It then starts again and is shrunk to 64 MB: by default it keeps the
 * largest size that it ever had.
 */
const SETTINGS = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
  PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 64000000`

/** How to open a database. */
export interface OpenFileOptions {
  /** The first statements. Default: the settings of what writes for requests, which are checked. */
  readonly script?: string
  /** Its files, where this thread takes the place of one that has ended. */
  readonly known?: OpenedFiles | undefined
}

/** What a thread does with a SQLite file for the one that started it, one operation after the other. */
export interface FileOperations extends Connection {
  /**
   * Opens a database, and returns its files.
   *
   * @throws {StorageError} if it cannot be used
   */
  open(file: string, options?: OpenFileOptions): Promise<OpenedFiles>
  /** Commits a page, unchanged: SQLite then syncs the log with all that was written before. */
  sync(): Promise<void>
  /** Closes the database, and returns whether it did: SQLite would write to files of others. */
  closeFile(): Promise<boolean>
  /**
   * Copies a database as it is at one moment, into the empty file `draft` of what will be `target`, and checks that.
   */
  copyFile(file: string, draft: string, target: string): Promise<void>
}

let opened: (GuardedConnection & { saveLog(): Promise<void> }) | undefined

const operations: FileOperations = {
  async open(file, { script = SETTINGS, known } = {}) {
    const initialize = async (connection: SqlDriverAdapter) => {
      await connection.executeScript(script)
      if (script === SETTINGS) await checkPragmas(connection, file)
    }
    const { connection, guard } = await connectGuarded(file, { timeout: BUSY_TIMEOUT }, initialize, known)
    let isSaved = false
    /** Writes back a log that was deleted, whose content would end with this process. */
    const saveLog = async () => {
      if (!guard.isLogMissing()) isSaved = false
      else if (!isSaved) {
        const [result] = await select(connection, 'PRAGMA wal_checkpoint(FULL)').catch(() => [])
        isSaved = result?.['busy'] === 0
      }
    }
    opened = { connection, guard, saveLog }
    setInterval(saveLog, CHECK_INTERVAL).unref()
    return guard.files
  },

  queryRaw: (query) => write((connection) => connection.queryRaw(query)),

  /** Where it changes nothing, the database may have what a process that was killed has written without a sync. */
  async executeRaw(query) {
    const count = await write((connection) => connection.executeRaw(query))
    if (count === 0) await this.sync()
    return count
  },

  executeScript: (script) => write((connection) => connection.executeScript(script)),

  sync: () =>
    write(async (connection) => {
      const [header] = await select(connection, 'PRAGMA user_version')
      await connection.executeScript(`PRAGMA user_version = ${header?.['user_version']}`)
    }),

  async closeFile() {
    if (!opened) return true
    const { connection, guard, saveLog } = opened
    await saveLog()
    if (!guard.mayClose()) return false
    await connection.dispose()
    opened = undefined
    return true
  },

  async copyFile(file, draft, target) {
    const connection = connect(file, { timeout: BUSY_TIMEOUT })
    try {
      await connection.executeRaw(toQuery('VACUUM INTO $1', draft))
    } catch (error) {
      // The database is only read, so what cannot be written is the target.
      const { code = '' } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
      throw WRITE_FAILURE.test(code) ? stateError(target, code, error) : translate(error, draft)
    } finally {
      await connection.dispose()
    }
    await checkDraft(draft)
  },
}

/** Which operation to run. */
export interface Command {
  readonly id: number
  readonly name: keyof FileOperations
  readonly args: readonly unknown[]
}

/** How the operation of a command has ended; an error as `toPlainError` returns it. */
export type Outcome = { id: number; result: unknown } | { id: number; error: unknown }

/** Checks what will be a backup. */
async function checkDraft(draft: string): Promise<void> {
  const connection = connect(draft)
  const [result] = await select(connection, 'PRAGMA integrity_check').finally(connection.dispose)
  const problem = result?.['integrity_check']
  if (problem !== 'ok') throw new StorageError(`the copy ${draft} is damaged (${problem}): check the database`)
}

/** SQLite ignores settings that it cannot have, such as WAL on some network file systems. */
async function checkPragmas(connection: SqlDriverAdapter, file: string): Promise<void> {
  const [settings] = await select(connection, 'SELECT * FROM pragma_journal_mode, pragma_synchronous')
  if (settings?.['journal_mode'] === 'wal' && settings['synchronous'] === 2) return
  throw new StorageError(`${file} does not support journal_mode=WAL and synchronous=FULL: put it on a local disk`)
}

/**
 * Runs a statement, and checks the files before it, to keep it out of a log next to another database, and after it,
 * since only then is it certain to be found again.
 */
async function write<Result>(run: (connection: SqlDriverAdapter) => Promise<Result>): Promise<Result> {
  const { connection, guard, saveLog } = opened as NonNullable<typeof opened>
  const check = async () => {
    try {
      guard.requireAll()
    } catch (error) {
      await saveLog()
      throw error
    }
  }
  await check()
  return run(connection).finally(check)
}

/** How many operations have not ended, which the end of the process waits for. */
const running = workerData as Int32Array

async function respond({ id, name, args }: Command): Promise<void> {
  const run: (...args: never[]) => Promise<unknown> = operations[name]
  const outcome: Outcome = await run.apply(operations, args as never[]).then(
    (result) => ({ id, result }),
    (error) => ({ id, error: toPlainError(error) }),
  )
  Atomics.sub(running, 0, 1)
  Atomics.notify(running, 0)
  parentPort?.postMessage(outcome)
}

let last = Promise.resolve()
parentPort?.on('message', (command: Command) => {
  last = last.then(() => respond(command))
})
