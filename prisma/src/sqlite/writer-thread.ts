// What runs in the thread of a writer, see `openWriter`.

import { parentPort } from 'node:worker_threads'
import { StorageError } from '../engine.ts'
import { TIMES } from '../patience.ts'
import type { ConnectOptions, FileConnection, Parameters, Result } from './connection.ts'
import { MOVED, stateError, toPlainError } from './errors.ts'
import { connectGuarded, type GuardedConnection, type Moved, type OpenedFile } from './file-guard.ts'
import { statements } from './statements.ts'

/**
 * FULL: what is committed survives a power failure. The file does not store it. The write-ahead log goes back into the
 * file at 4,000 pages, 16 MB: SQLite's default of 1,000 costs a third of the plants a second. It then starts again and
 * is shrunk to 64 MB: by default it keeps the largest size that it ever had.
 */
const SETTINGS = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
  PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 64000000`

let opened: GuardedConnection | undefined
/** Whether a log that was deleted, whose content would end with this process, is back in the file. */
let isLogSaved = false

/** What the thread does for the one that started it, one command after the other. */
export const commands = {
  /**
   * Opens a file, and returns it and those that SQLite keeps next to it.
   *
   * @param script the first statements; default: the settings of what writes for requests, which are checked
   * @throws {StorageError} if it cannot be used
   */
  open(file: string, script = SETTINGS, cache: ConnectOptions['cache'] = 'private'): readonly OpenedFile[] {
    opened = connectGuarded(file, { timeout: TIMES.busy, cache }, (connection) => {
      connection.executeScript(script)
      if (script === SETTINGS) checkPragmas(connection, file)
    })
    const { files, findMoved } = opened
    setInterval(() => saveLog(findMoved()), TIMES.check).unref()
    return files
  },

  run: (sql: string, parameters?: Parameters, needsColumns?: boolean): Result =>
    inPlace((connection) => connection.run(sql, parameters, needsColumns)),

  /**
   * Runs a statement that writes. Where it changes nothing, it syncs: the database may have what a process that was
   * killed has written without a sync.
   */
  runDurably: (sql: string, parameters?: Parameters, needsColumns?: boolean): Result =>
    inPlace((connection) => {
      const result = connection.run(sql, parameters, needsColumns)
      if (result.changes === 0) writePage(connection)
      return result
    }),

  executeScript: (script: string): void => inPlace((connection) => connection.executeScript(script)),

  /**
   * Runs what requests write, without a plant, and undoes it.
   *
   * @param writesPage whether it writes to the disk
   */
  probe: (writesPage: boolean): void =>
    inPlace((connection) => {
      connection.executeScript('BEGIN IMMEDIATE')
      try {
        connection.run(statements.insertPlants.sql, ['[]'])
      } finally {
        connection.executeScript('ROLLBACK')
      }
      if (writesPage) writePage(connection)
    }),

  /** Closes the file, and returns whether it did: where it has a log, SQLite would write to files of others. */
  close(): boolean {
    const moved = opened?.findMoved()
    saveLog(moved)
    if (moved?.isReplaced && opened?.files.some(({ name }) => name.endsWith('-wal'))) return false
    opened?.close()
    opened = undefined
    return true
  },
}

/** Which command to run. */
export interface Command {
  readonly name: keyof typeof commands
  readonly args: readonly unknown[]
}

/** How a command has ended; an error as `toPlainError` returns it. */
export type Outcome = { result: unknown } | { error: object }

parentPort?.on('message', ({ name, args }: Command) => {
  const run: (...args: never[]) => unknown = commands[name]
  try {
    parentPort?.postMessage({ result: run(...(args as never[])) } satisfies Outcome)
  } catch (error) {
    parentPort?.postMessage({ error: toPlainError(error) } satisfies Outcome)
  }
})

/**
 * Uses the file, and checks before that it is in place, to keep a statement out of a log next to another database, and
 * after it, since only then is it certain to be found again.
 */
function inPlace<Result>(use: (connection: FileConnection) => Result): Result {
  const connection = opened as GuardedConnection
  const check = () => {
    const moved = connection.findMoved()
    saveLog(moved)
    if (moved) throw stateError(moved.name, MOVED)
  }
  check()
  try {
    return use(connection)
  } finally {
    check()
  }
}

/** Commits a page, unchanged: SQLite then syncs the log with all that was written before. */
function writePage(connection: FileConnection): void {
  const [[version] = []] = connection.run('PRAGMA user_version').rows
  connection.executeScript(`PRAGMA user_version = ${version}`)
}

/** Writes the log back into the file where it was deleted, once. */
function saveLog(moved: Moved | undefined): void {
  const isMissing = moved?.isLog === true && !moved.isReplaced
  isLogSaved &&= isMissing
  if (!isMissing || isLogSaved) return
  try {
    const [[busy] = []] = opened?.run('PRAGMA wal_checkpoint(FULL)').rows ?? []
    isLogSaved = Number(busy) === 0
  } catch {
    // It is tried again.
  }
}

/**
 * SQLite ignores settings that it cannot have, such as WAL on some network file systems. The encoding is that of whoever
 * has created the file: lists are read as the bytes of their text.
 */
function checkPragmas(connection: FileConnection, file: string): void {
  const { rows } = connection.run('SELECT * FROM pragma_journal_mode, pragma_synchronous, pragma_encoding')
  const [[mode, synchronous, encoding] = []] = rows
  if (encoding !== 'UTF-8') {
    throw new StorageError(`${file} is in ${encoding}: copy it to one in UTF-8, sqlite3 FILE .dump | sqlite3 NEW`)
  }
  if (mode === 'wal' && Number(synchronous) === 2) return
  throw new StorageError(`${file} does not support journal_mode=WAL and synchronous=FULL: put it on a local disk`)
}
