// A thread that uses SQLite for the thread that started it, see `openThread`.

import { parentPort, workerData } from 'node:worker_threads'
import { StorageError } from '../engine.ts'
import { TIMES } from '../patience.ts'
import type { FileConnection, Parameters, Result } from './connection.ts'
import { toPlainError } from './errors.ts'
import { connectGuarded, type GuardedConnection, type OpenedFiles } from './file-guard.ts'
import { statements } from './statements.ts'

/**
 * FULL: what is committed survives a power failure. The file does not store it. The write-ahead log goes back into the
 * file at 4,000 pages, 16 MB: SQLite's default of 1,000 costs a third of the plants a second. It then starts again and
 * is shrunk to 64 MB: by default it keeps the largest size that it ever had.
 */
const SETTINGS = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
  PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 64000000`

/** What a thread does with a SQLite file for the one that started it, one operation after the other. */
export interface FileOperations {
  /**
   * Opens a database, and returns its files.
   *
   * @param script the first statements; default: the settings of what writes for requests, which are checked
   * @throws {StorageError} if it cannot be used
   */
  open(file: string, script?: string): Promise<OpenedFiles>
  /** Runs a statement. */
  run(sql: string, parameters?: Parameters, needsColumns?: boolean): Promise<Result>
  /**
   * Runs a statement that writes. Where it changes nothing, it syncs: the database may have what a process that was
   * killed has written without a sync.
   */
  runDurably(sql: string, parameters?: Parameters, needsColumns?: boolean): Promise<Result>
  executeScript(script: string): Promise<void>
  /**
   * Runs what requests write, without a plant, and undoes it.
   *
   * @param writesPage whether it writes to the disk
   */
  probe(writesPage: boolean): Promise<void>
  /** Closes the database, and returns whether it did: SQLite would write to files of others. */
  closeFile(): Promise<boolean>
}

let opened: (GuardedConnection & { saveLog(): void }) | undefined

const operations: FileOperations = {
  async open(file, script = SETTINGS) {
    const initialize = (connection: FileConnection) => {
      connection.executeScript(script)
      if (script === SETTINGS) checkPragmas(connection, file)
    }
    const { connection, guard } = connectGuarded(file, { timeout: TIMES.busy }, initialize)
    let isSaved = false
    /** Writes back a log that was deleted, whose content would end with this process. */
    const saveLog = () => {
      if (!guard.isLogMissing()) isSaved = false
      else if (!isSaved) isSaved = checkpoint(connection)
    }
    opened = { connection, guard, saveLog }
    setInterval(saveLog, TIMES.check).unref()
    return guard.files
  },

  run: async (...args) => write((connection) => connection.run(...args)),

  async runDurably(...args) {
    const result = await this.run(...args)
    if (result.changes === 0) write(writePage)
    return result
  },

  executeScript: async (script) => write((connection) => connection.executeScript(script)),

  probe: async (writesPage) =>
    write((connection) => {
      connection.executeScript('BEGIN IMMEDIATE')
      try {
        connection.run(statements.insertPlants.sql, [{ 1: '[]' }])
      } finally {
        connection.executeScript('ROLLBACK')
      }
      if (writesPage) writePage(connection)
    }),

  async closeFile() {
    if (!opened) return true
    const { connection, guard, saveLog } = opened
    saveLog()
    if (!guard.mayClose()) return false
    connection.close()
    opened = undefined
    return true
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

/** SQLite ignores settings that it cannot have, such as WAL on some network file systems. */
function checkPragmas(connection: FileConnection, file: string): void {
  const [[mode, synchronous] = []] = connection.run('SELECT * FROM pragma_journal_mode, pragma_synchronous').rows
  if (mode === 'wal' && Number(synchronous) === 2) return
  throw new StorageError(`${file} does not support journal_mode=WAL and synchronous=FULL: put it on a local disk`)
}

/** Commits a page, unchanged: SQLite then syncs the log with all that was written before. */
function writePage(connection: FileConnection): void {
  const [[version] = []] = connection.run('PRAGMA user_version').rows
  connection.executeScript(`PRAGMA user_version = ${version}`)
}

/** Writes the log back into the file, and returns whether all of it is there. */
function checkpoint(connection: FileConnection): boolean {
  try {
    const [[busy] = []] = connection.run('PRAGMA wal_checkpoint(FULL)').rows
    return Number(busy) === 0
  } catch {
    return false
  }
}

/**
 * Runs a statement, and checks the files before it, to keep it out of a log next to another database, and after it,
 * since only then is it certain to be found again.
 */
function write<Result>(run: (connection: FileConnection) => Result): Result {
  const { connection, guard, saveLog } = opened as NonNullable<typeof opened>
  const check = () => {
    try {
      guard.requireAll()
    } catch (error) {
      saveLog()
      throw error
    }
  }
  check()
  try {
    return run(connection)
  } finally {
    check()
  }
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
