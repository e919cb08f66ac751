import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import { DatabaseError, errorCode } from '../../database-error.ts'
import { type RetryOptions, retryWhile } from '../../shared/retry.ts'
import { select } from '../../shared/sql.ts'
import { createDriverAdapter, type SqliteConnection } from './driver-adapter.ts'
import { isBusy, NO_LOCKS } from './errors.ts'
import { createFileGuard, findFiles, inodeOf, type OpenedFile } from './file-guard.ts'

/**
 * The write-ahead log goes back into the file at 4,000 pages, 16 MB: SQLite's default of 1,000 costs a third of the plants a
 * second. It then starts again and is shrunk to 64 MB, below what PlantStoreLogGrowing (docs/production/monitoring) allows:
 * by default it keeps the largest size that it ever had.
 */
const LOG_LIMITS = 'PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 64000000'

/**
 * FULL: what is committed survives a power failure. The driver's default is NORMAL, which does not promise that, and
 * the file does not store it.
 */
export const CONNECTION_SETTINGS = `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; ${LOG_LIMITS}`

/**
 * Checks that {@link CONNECTION_SETTINGS} are in effect: SQLite ignores what it cannot do, such as WAL on some network
 * file systems.
 *
 * @throws {DatabaseError} if they are not
 */
export async function checkSettings(connection: SqliteConnection, file: string): Promise<void> {
  const [settings] = await select(connection, 'SELECT * FROM pragma_journal_mode, pragma_synchronous')
  if (settings?.['journal_mode'] === 'wal' && settings['synchronous'] === 2) return
  throw new DatabaseError(`${file} does not support journal_mode=WAL and synchronous=FULL: put it on a local disk`)
}

const TRIGGERS = ['Plant_deleted', 'Plant_updated']

/**
 * Checks that the triggers of the migrations are there, without which a cached list could be outdated. Prisma drops them
 * where a migration replaces their table.
 *
 * @throws {DatabaseError} if one is missing
 */
export async function checkTriggers(connection: SqliteConnection, file: string): Promise<void> {
  const rows = await select(connection, `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Plant'`)
  const missing = TRIGGERS.find((trigger) => !rows.some(({ name }) => name === trigger))
  if (missing) throw new DatabaseError(`${file} lacks the trigger "${missing}" of its migrations: restore a backup`)
}

/**
 * Connects to a SQLite file that exists.
 *
 * @throws {DatabaseError} if SQLite cannot be loaded; SqliteError if the file cannot be opened
 */
export function connect(file: string, options: BetterSqlite3.Options = {}): SqliteConnection {
  try {
    // SQLite would wait for another process's lock within the statement, which blocks the event loop.
    return createDriverAdapter(new BetterSqlite3(file, { fileMustExist: true, timeout: 0, ...options }))
  } catch (error) {
    throw /^(MODULE_NOT_FOUND|ERR_DLOPEN_FAILED)$/.test(errorCode(error)) ? missingBinary(error) : error
  }
}

/** Runs an operation with a connection of its own. */
export async function withConnection<Result>(
  file: string,
  run: (connection: SqliteConnection) => Promise<Result>,
  options?: BetterSqlite3.Options,
): Promise<Result> {
  const connection = connect(file, options)
  try {
    return await run(connection)
  } finally {
    await connection.dispose()
  }
}

/** A connection, and the guard of its files. */
export type GuardedConnection = Awaited<ReturnType<typeof connectGuarded>>

/**
 * Connects to a SQLite file that may be moved or replaced at any time.
 *
 * @param begin runs the first statement, at which SQLite opens the other files
 * @param known the files, if another connection has opened them before
 */
export async function connectGuarded(
  file: string,
  options: BetterSqlite3.Options,
  begin: (connection: SqliteConnection) => Promise<unknown>,
  known?: readonly OpenedFile[],
) {
  if (known) createFileGuard(known).requireAll()
  const inode = inodeOf(file)
  const connection = connect(file, options)
  try {
    await begin(connection)
    return { connection, guard: createFileGuard(known ?? findFiles(file, inode)) }
  } catch (error) {
    await connection.dispose()
    throw error
  }
}

/**
 * Runs an operation, again while another connection has locked the database. SQLite's own wait would block the event loop.
 *
 * @param file the database, if its disk may be one that does not support locks
 * @throws the operation's last error, or the signal's reason
 */
export function retryWhileBusy<Result>(
  run: () => Promise<Result>,
  options: RetryOptions,
  file?: string,
): Promise<Result> {
  let unchecked = file
  const onRetry = () => {
    if (unchecked !== undefined) checkLocks(unchecked)
    unchecked = undefined
    options.onRetry?.()
  }
  return retryWhile(isBusy, run, { ...options, onRetry })
}

/**
 * Checks that the disk of a file supports locks. SQLite reports one that does not as busy, for ever, so a file that no other
 * process knows is locked.
 *
 * @throws {DatabaseError} if it does not
 */
export function checkLocks(file: string): void {
  const probe = `${file}.${randomUUID()}.lock`
  try {
    const connection = new BetterSqlite3(probe, { timeout: 0 })
    try {
      connection.exec('BEGIN EXCLUSIVE')
    } finally {
      connection.close()
    }
  } catch (error) {
    if (isBusy(error)) throw new DatabaseError(`${file} ${NO_LOCKS}`, { cause: error })
    // What is wrong with the folder shows in the operation itself.
  } finally {
    rmSync(probe, { force: true })
  }
}

/** The package brings SQLite for Linux with glibc or musl, macOS and Windows, on x64 and arm64. */
function missingBinary(cause: unknown): DatabaseError {
  return new DatabaseError(
    `the package better-sqlite3 has no SQLite that runs on ${process.platform} ${process.arch}: install the ` +
      'packages again on this machine, use Linux, macOS or Windows on x64 or arm64, or set DATABASE_URL to PostgreSQL',
    { cause },
  )
}
