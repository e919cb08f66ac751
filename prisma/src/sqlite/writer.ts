/**
 * A thread that writes to a SQLite file, or uses it for long, so that the event loop waits for no disk. It is
 *
 * - open: it runs one command after the other. The end of the process waits for the statement that runs, which nothing
 *   ends: a disk that hangs keeps it until a service manager kills it;
 * - blocked, while one of its files is missing: it rejects all that it is asked to run, and writes the log back into
 *   the file if that is what is missing; once it is in place again, it is open. Where another file has the name of one
 *   of its files, it stays so;
 * - closed: its file is closed, the thread has ended, and commands fail;
 * - left, where it has a log and another file has the name of one of its files when it is to close: SQLite would write to
 *   that file. Commands fail, its thread stays, and since the end of the process would close it too, the process then ends
 *   by SIGKILL;
 * - failed, where it ended by itself, such as for lack of memory: that is an uncaught exception of this process. Commands
 *   fail, also those that wait.
 *
 * This file has both ends of the commands: first that of the server, then that of the thread.
 */

import assert from 'node:assert/strict'
import type { SQLInputValue } from 'node:sqlite'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import type { SqlValue, Transaction } from '../engine.ts'
import { StorageError } from '../engine.ts'
import { type Attempts, retry, TIMES } from '../patience.ts'
import { type Cache, type FileConnection, READ_SCHEMA, type Result } from './connection.ts'
import { stateError, toError, toPlainError } from './errors.ts'
import { connectGuarded, type GuardedConnection, type Moved, type OpenedFile } from './file-guard.ts'

/** What uses a file in a thread of its own. */
export interface Writer {
  /** The file, and those that SQLite keeps next to it. */
  readonly files: readonly OpenedFile[]
  /** Lets the thread run a command, during which it keeps the process running. */
  send<Name extends keyof Commands>(
    name: Name,
    ...args: Parameters<Commands[Name]>
  ): Promise<ReturnType<Commands[Name]>>
  /**
   * Runs a statement of requests durably. If the database looks damaged, nothing is written to it before all of it has
   * proved sound.
   */
  readonly write: Attempts<SQLInputValue, Result>['write']
  /** Closes the file and ends the thread, unless the files are not its own any more. */
  close(): Promise<void>
}

type Commands = typeof commands

/** Which command to run. */
interface Command {
  readonly name: keyof Commands
  readonly args: readonly unknown[]
}

/** How a command has ended; an error as `toPlainError` returns it. */
type Reply = { result: unknown } | { error: object }

/** Tells the thread of a writer from any other that loads this file. */
const WRITER = 'plant-store-writer'

/**
 * Opens a file in a thread of its own.
 *
 * @param script the first statements. Default: the settings of what writes for requests, which are checked
 * @param cache whether connections of this process share what they read, and its locks. Default: private
 * @throws {StorageError} if it cannot be used
 */
export async function openWriter(file: string, script?: string, cache?: Cache): Promise<Writer> {
  // No module that is preloaded for the server, such as one that measures its requests.
  const env = { ...process.env, NODE_OPTIONS: '' }
  const worker = new Worker(new URL(import.meta.url), { workerData: WRITER, execArgv: [], env })
  /** The commands without a reply, in order. */
  const pending: { resolve(result: never): void; reject(error: unknown): void }[] = []
  /** Why commands fail. */
  let ended: Error | undefined

  function fail(): never {
    ended = new StorageError(`${file} cannot be used: its thread has ended; check the limits of memory`)
    for (const { reject } of pending) reject(ended)
    throw ended
  }

  worker.on('exit', fail)
  worker.on('message', (reply: Reply) => {
    // Other code in the thread, such as a watcher's, may send messages of its own.
    if (!('result' in Object(reply) || 'error' in Object(reply))) return
    const command = pending.shift()
    assert(command, 'a reply belongs to a command')
    if (pending.length === 0) worker.unref()
    if ('error' in reply) command.reject(toError(reply.error))
    else command.resolve(reply.result as never)
  })
  worker.unref()

  const send: Writer['send'] = (name, ...args) =>
    new Promise((resolve, reject) => {
      if (ended) throw ended
      pending.push({ resolve, reject })
      worker.ref()
      worker.postMessage({ name, args } satisfies Command)
    })

  async function close(): Promise<void> {
    if (await send('close')) await worker.off('exit', fail).terminate()
    else process.once('exit', endNow)
    ended ??= new StorageError(`${file} is closed`)
  }
  const files = await retry(() => send('open', file, script, cache), TIMES.task).catch(async (error) => {
    await close()
    throw error
  })
  const write: Writer['write'] = ({ sql }, values, lastFailure) =>
    send('runDurably', sql, values, lastFailure?.fault === 'damaged')
  return { files, send, write, close }
}

/** Ends the process without joining its threads. Linux ignores the signal of a container's first process. */
function endNow(): never {
  process.kill(process.pid, 'SIGKILL')
  process.abort()
}

/**
 * Opens a connection in a thread of its own, and runs its first statements. A migration takes long, a disk may hang, and
 * SQLite may sync a log that a killed process has left.
 */
export async function openInThread(file: string, script: string, cache?: Cache): Promise<Transaction> {
  const { send, close } = await openWriter(file, script, cache)
  return {
    query: async <Row>(sql: string, ...values: SqlValue[]) => (await send('run', sql, values)).rows as Row[],
    executeScript: (text) => send('executeScript', text),
    commit: () => send('executeScript', 'COMMIT'),
    // What is committed stays, and an error of what failed before is the one to report.
    [Symbol.asyncDispose]: () => close().catch(() => {}),
  }
}

// What follows runs in the thread.

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

/** What the thread does for the server, one command after the other. */
const commands = {
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

  run: (...args: Parameters<FileConnection['run']>): Result => connection().run(...args),

  /**
   * Runs a statement that writes. Where it changes nothing, it syncs: the database may have what a process that was
   * killed has written without a sync.
   *
   * @param looksDamaged whether the file is opened anew first
   */
  runDurably(sql: string, values: SQLInputValue[], looksDamaged: boolean): Result {
    if (looksDamaged) reopen()
    const result = connection().run(sql, values)
    if (result.rowCount === 0) writePage()
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

function runCommand({ name, args }: Command): Reply {
  const run: (...args: never[]) => unknown = commands[name]
  try {
    return { result: run(...(args as never[])) }
  } catch (error) {
    // Who is told that the log is missing may kill this process: nothing is lost.
    saveLog()
    return { error: toPlainError(error) }
  }
}

if (workerData === WRITER) {
  parentPort?.on('message', (command: Command) => parentPort?.postMessage(runCommand(command)))
}

/**
 * Opens the file anew, once all of it has proved sound: where the disk fails to give a page within a transaction, SQLite
 * reports damage, and does so from then on.
 *
 * @throws {StorageError} if it is damaged, or cannot be read
 */
function reopen(): void {
  const { files, close } = connection()
  const [{ name } = { name: '' }] = files
  using other = new DisposableStack()
  const reopened = connectGuarded(name, { timeout: TIMES.busy, script: SETTINGS }, files)
  other.defer(reopened.close)
  const [[problem] = []] = reopened.run('PRAGMA quick_check(1)').rows
  if (problem !== 'ok') throw stateError(name, 'SQLITE_CORRUPT')
  other.move()
  close()
  opened = reopened
}

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
