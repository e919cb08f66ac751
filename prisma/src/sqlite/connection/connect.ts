import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import BetterSqlite3 from 'better-sqlite3'
import { DatabaseError, errorCode } from '../../database-error.ts'
import { createDriverAdapter } from './driver-adapter.ts'

/**
 * Connects to a SQLite file that exists.
 *
 * @param timeout how long a statement waits for another process's lock, in milliseconds, which blocks the event loop
 * @throws {DatabaseError} if SQLite cannot be loaded; DriverAdapterError or SqliteError if the file cannot be opened
 */
export async function connect(file: string, timeout: number = 0): Promise<SqlDriverAdapter> {
  return createDriverAdapter(openFile(file, { fileMustExist: true, timeout }))
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
