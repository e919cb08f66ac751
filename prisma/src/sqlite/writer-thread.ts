// What runs in the thread of a writer, see `openWriter`.

import { parentPort } from 'node:worker_threads'
import { StorageError } from '../engine.ts'
import { TIMES } from '../patience.ts'
import { type Cache, type FileConnection, READ_SCHEMA, type Result } from './connection.ts'
import { stateError, toPlainError } from './errors.ts'
import { connectGuarded, type GuardedConnection, type Moved, type OpenedFile } from './file-guard.ts'

/**
 * FULL: what is committed survives a power failure. The file does not store it. The write-ahead log goes back into the
 * file at 4,000 pages, 16 MB: SQLite's default of 1,000 costs a third of the plants a second. It then starts again and
 * is shrunk to 64 MB: by default it keeps the largest size that it ever had.
 */
const SETTINGS = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
  PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 64000000; ${READ_SCHEMA}`

let opened: GuardedConnection | undefined
const connection = () => opened as GuardedConnection
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
  open(file: string, script = SETTINGS, cache?: Cache): readonly OpenedFile[] {
    opened ??= connectGuarded(file, { timeout: TIMES.busy, cache, script })
    if (script === SETTINGS) checkPragmas(opened, file)
    setInterval(saveLog, TIMES.check).unref()
    return opened.files
  },

  /**
   * Opens the file anew, once all of it has proved sound: where the disk fails to give a page within a transaction, SQLite
   * reports damage, and does so from then on.
   *
   * @throws {StorageError} if it is damaged, or cannot be read
   */
  reopen(file: string): void {
    using other = new DisposableStack()
    const reopened = connectGuarded(file, { timeout: TIMES.busy, script: SETTINGS }, connection().files)
    other.defer(reopened.close)
    const [[problem] = []] = reopened.run('PRAGMA quick_check(1)').rows
    if (problem !== 'ok') throw stateError(file, 'SQLITE_CORRUPT')
    other.move()
    connection().close()
    opened = reopened
  },

  run: (...args: Parameters<FileConnection['run']>): Result => connection().run(...args),

  /**
   * Runs a statement that writes. Where it changes nothing, it syncs: the database may have what a process that was
   * killed has written without a sync.
   */
  runDurably(...args: Parameters<FileConnection['run']>): Result {
    const result = connection().run(...args)
    if (result.changes === 0) writePage()
    return result
  },

  executeScript: (script: string): void => connection().executeScript(script),

  /** Closes the file, and returns whether it did: where it has a log, SQLite would write to files of others. */
  close(): boolean {
    const moved = saveLog()
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
    // Who is told that the log is missing may kill this process: nothing is lost.
    saveLog()
    parentPort?.postMessage({ error: toPlainError(error) } satisfies Outcome)
  }
})

/** Commits a page, unchanged: SQLite then syncs the log with all that was written before. */
function writePage(): void {
  const [[version] = []] = connection().run('PRAGMA user_version').rows
  connection().executeScript(`PRAGMA user_version = ${version}`)
}

/** Writes the log back into the file where it was deleted, once. Returns what is not in its place. */
function saveLog(): Moved | undefined {
  const moved = opened?.findMoved()
  const isMissing = moved?.isLog === true && !moved.isReplaced
  isLogSaved &&= isMissing
  if (!isMissing || isLogSaved) return moved
  try {
    const [[busy] = []] = connection().runUnguarded('PRAGMA wal_checkpoint(FULL)').rows
    isLogSaved = Number(busy) === 0
  } catch {
    // It is tried again.
  }
  return moved
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
