import BetterSqlite3 from 'better-sqlite3'
import { DatabaseError, errorCode } from '../../database-error.ts'
import { type Connection, createDriverAdapter } from './driver-adapter.ts'

/**
 * Connects to a SQLite file that exists.
 *
 * @throws {DatabaseError} if SQLite cannot be loaded; SqliteError if the file cannot be opened
 */
export function connect(file: string, options: BetterSqlite3.Options = {}): Connection {
  try {
    // A statement that waits for another process's lock blocks this one.
    return createDriverAdapter(new BetterSqlite3(file, { fileMustExist: true, timeout: 0, ...options }))
  } catch (error) {
    throw /^(MODULE_NOT_FOUND|ERR_DLOPEN_FAILED)$/.test(errorCode(error)) ? missingBinary(error) : error
  }
}

/** Runs an operation with a connection of its own. */
export async function withConnection<Result>(
  file: string,
  run: (connection: Connection) => Promise<Result>,
  options?: BetterSqlite3.Options,
): Promise<Result> {
  const connection = connect(file, options)
  try {
    return await run(connection)
  } finally {
    await connection.dispose()
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
