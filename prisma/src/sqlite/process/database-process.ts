// A process that uses SQLite for the process that started it, see `startProcess`.

import { flushCompileCache } from 'node:module'
import type { SqlQuery } from '@prisma/driver-adapter-utils'
import { type SqlValue, select } from '../../shared/sql.ts'
import {
  CONNECTION_SETTINGS,
  checkSettings,
  checkTriggers,
  connectGuarded,
  type GuardedConnection,
} from '../connection/connect.ts'
import type { SqliteConnection } from '../connection/driver-adapter.ts'
import { type PlainError, toPlainError } from '../connection/errors.ts'
import type { OpenedFile } from '../connection/file-guard.ts'
import { checkCopy, copyFile, migrateFile } from './file-tasks.ts'

/** How often the files are checked without a statement, in milliseconds: less than another process takes to start. */
const CHECK_INTERVAL = 100

/** How long a statement waits for another process's lock, in milliseconds, before it is worth a retry. */
const BUSY_TIMEOUT = 100

/** The database that `open` has opened. */
type Opened = Awaited<ReturnType<typeof openFile>>

let opened: Promise<Opened> | undefined

const operations = {
  /**
   * Opens a database to write to.
   *
   * @param known its files, where this process takes the place of one that has ended
   */
  async open(file: string, known?: readonly OpenedFile[]): Promise<readonly OpenedFile[]> {
    opened = openFile(file, known)
    // This process ends by a signal, without keeping what was compiled.
    flushCompileCache()
    return (await opened).guard.files
  },
  execute: (sql: string, ...values: SqlValue[]) => write((connection) => connection.sql.execute(sql, ...values)),
  queryRaw: (query: SqlQuery) => write((connection) => connection.queryRaw(query)),
  executeRaw: (query: SqlQuery) => write((connection) => connection.executeRaw(query)),
  executeScript: (script: string) => write((connection) => connection.executeScript(script)),
  /** Closes it, unless SQLite would write to a file of others. */
  async close(): Promise<void> {
    const { connection, guard, saveLog } = await (opened as Promise<Opened>)
    await saveLog()
    if (guard.mayClose()) await connection.dispose()
  },
  copyFile,
  checkCopy,
  migrateFile,
}

export type Operations = typeof operations

/** Which operation to run. */
export interface Request {
  id: number
  name: keyof Operations
  args: unknown[]
}

/** How the operation of a request has ended. */
export type Outcome = { id: number; result: unknown } | { id: number; error: PlainError }

async function openFile(file: string, known: readonly OpenedFile[] | undefined) {
  const begin = async (connection: SqliteConnection) => {
    await connection.executeScript(CONNECTION_SETTINGS)
    await checkSettings(connection, file)
    await checkTriggers(connection, file)
  }
  const guarded = await connectGuarded(file, { timeout: BUSY_TIMEOUT }, begin, known)
  const saveLog = createLogSaver(guarded)
  setInterval(saveLog, CHECK_INTERVAL).unref()
  return { ...guarded, saveLog }
}

/** Creates what writes back a log that was deleted, whose content would end with this process. */
function createLogSaver({ connection, guard }: GuardedConnection): () => Promise<void> {
  let isSaved = false
  return async () => {
    if (!guard.isLogMissing()) isSaved = false
    else if (!isSaved) {
      const [result] = await select(connection, 'PRAGMA wal_checkpoint(FULL)').catch(() => [])
      isSaved = result?.['busy'] === 0
    }
  }
}

/**
 * Runs a statement, and checks the files before it, to keep it out of a log next to another database, and after it, since
 * only then is it certain to be found again.
 */
async function write<Result>(run: (connection: SqliteConnection) => Promise<Result>): Promise<Result> {
  const { connection, guard, saveLog } = await (opened as Promise<Opened>)
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

async function respond({ id, name, args }: Request): Promise<void> {
  const run = operations[name] as (...args: unknown[]) => Promise<unknown>
  const outcome: Outcome = await run(...args).then(
    // Undefined would not arrive.
    (result = null) => ({ id, result }),
    (error) => ({ id, error: toPlainError(error) }),
  )
  // Where nobody reads it any more, an error without a listener would end the process by itself.
  process.send?.(outcome, undefined, undefined, () => {})
}

// A terminal and systemd send these signals to every process; only the one that started this process acts on them.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
// This process ends with the one that started it, by a signal: its regular end would close the connection, which writes to the files.
process.once('disconnect', async () => {
  await opened?.then(({ saveLog }) => saveLog()).catch(() => {})
  process.kill(process.pid, 'SIGKILL')
})

let last = Promise.resolve()
process.on('message', (request) => {
  last = last.then(() => respond(request as Request))
})
