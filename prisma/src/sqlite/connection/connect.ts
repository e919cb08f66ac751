import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import BetterSqlite3 from 'better-sqlite3'
import { DatabaseError, errorCode } from '../../database-error.ts'
import { createDriverAdapter } from './driver-adapter.ts'
import { createFileGuard, inodeOf, type MovedFiles } from './file-guard.ts'

/** A connection to a SQLite file. Where another file has the name of one of its files, disposing of it writes nothing. */
export interface Connection extends SqlDriverAdapter {
  /** Finds files of the database that are not the ones that were opened. */
  findMoved(): MovedFiles | undefined
}

/** The connections that are left open, by the file that they have open. */
const leftOpen = new Map<string | undefined, BetterSqlite3.Database>()

/**
 * Connects to a SQLite file that exists.
 *
 * @param timeout how long a statement waits for another process's lock, in milliseconds, which blocks the event loop
 * @throws {DatabaseError} if SQLite cannot be loaded; DriverAdapterError or SqliteError if the file cannot be opened
 */
export async function connect(file: string, timeout: number = 0): Promise<Connection> {
  const inode = inodeOf(file)
  // Connections of a process share the index of the log, even one that was removed.
  if (inode !== undefined && leftOpen.has(inode)) {
    throw new DatabaseError(`${file} cannot be opened again by this process, since its files were replaced: restart it`)
  }
  const database = openFile(file, { fileMustExist: true, timeout })
  const adapter = createDriverAdapter(database)
  let guard: ReturnType<typeof createFileGuard> | undefined
  return {
    ...adapter,
    findMoved: () => guard?.(),
    async queryRaw(query) {
      const result = await adapter.queryRaw(query)
      // SQLite opens the log and its index at the first query.
      guard ??= createFileGuard(file, inode)
      return result
    },
    async dispose() {
      if (guard?.()?.isReplaced) leaveOpen(inode, database)
      else await adapter.dispose()
    },
  }
}

/**
 * Leaves a connection open until the process ends. Closing the last connection of a file writes the log back into it and
 * removes the log, which now belongs to the file of another process. Node.js does so too where a process ends by itself.
 */
function leaveOpen(inode: string | undefined, database: BetterSqlite3.Database): void {
  if (leftOpen.size === 0) process.once('exit', () => process.exit())
  leftOpen.set(inode, database)
}

/** Runs an operation with a connection of its own. */
export async function withConnection<Result>(
  file: string,
  run: (connection: SqlDriverAdapter) => Promise<Result>,
  timeout?: number,
): Promise<Result> {
  const connection = await connect(file, timeout)
  try {
    return await run(connection)
  } finally {
    await connection.dispose()
  }
}

function openFile(file: string, options: BetterSqlite3.Options): BetterSqlite3.Database {
  try {
    return new BetterSqlite3(file, options)
  } catch (error) {
    throw /^(MODULE_NOT_FOUND|ERR_DLOPEN_FAILED)$/.test(errorCode(error)) ? missingBinary(error) : error
  }
}

/** The package brings SQLite for Linux, macOS and Windows, on x64 and arm64. */
function missingBinary(cause: unknown): DatabaseError {
  const libc = process.platform === 'linux' && !hasGlibc() ? ' with musl' : ''
  return new DatabaseError(
    `the package better-sqlite3 has no SQLite that runs on ${process.platform} ${process.arch}${libc}: install the ` +
      'packages again on this machine, use Linux, macOS or Windows on x64 or arm64, or set DATABASE_URL to PostgreSQL',
    { cause },
  )
}

function hasGlibc(): boolean {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime !== undefined
}
