/**
 * The database cannot be used as it is. The message is one sentence for the operator: which file, and what to do.
 * Whenever it is thrown, nothing on disk has changed.
 */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
}

/** What to say about an error of SQLite's or of the file system's, by its code. */
const SENTENCES: [code: RegExp, sentence: string][] = [
  [/^SQLITE_NOTADB/, 'is not a SQLite database: point DATABASE_URL at another file'],
  [/^SQLITE_CORRUPT/, 'is damaged: put a backup in its place'],
  [/^(SQLITE_BUSY|SQLITE_LOCKED)/, 'is locked by another process: stop that one, or wait for it, and retry'],
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, 'cannot be written, the disk is full: make room and start again'],
  [
    /^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM|EACCES|EPERM|EROFS|EISDIR|ENOTDIR|EEXIST|ENOENT)/,
    'cannot be opened: it has to be a file, and this user has to be allowed to read and write it and its folder',
  ],
]

/** The error of a database that only a migration creates. */
export function missingDatabase(file: string): DatabaseError {
  return new DatabaseError(`${file} does not exist: run "plant-store migrate" to create it, or check DATABASE_URL`)
}

/** Any error met while using `file`, as a DatabaseError that keeps it as its cause. */
export function toDatabaseError(error: unknown, file: string): DatabaseError {
  if (error instanceof DatabaseError) return error
  const code = errorCode(error)
  const sentence = SENTENCES.find(([pattern]) => pattern.test(code))?.[1]
  return new DatabaseError(`${file} ${sentence ?? `cannot be used: ${errorReason(error)}`}`, { cause: error })
}

/** `SQLITE_BUSY`, `EACCES` and the like; empty where there is none. */
export function errorCode(error: unknown): string {
  const { code } = error as DriverError
  return String(adapterCause(error)?.originalCode ?? code ?? '')
}

/** What SQLite, or whoever failed, has to say, in one line: Prisma writes the call above it. */
export function errorReason(error: unknown): string {
  const { message } = error as DriverError
  const reason = String(adapterCause(error)?.originalMessage ?? message ?? error)
  return reason.trim().split('\n').at(-1) ?? reason
}

function adapterCause(error: unknown): DriverCause | undefined {
  const { cause, meta } = error as DriverError
  return meta?.driverAdapterError?.cause ?? cause
}

/**
 * The driver's own errors have `code` and `message`; Prisma's driver adapter keeps both in the cause, and Prisma Client
 * that error in `meta`.
 */
interface DriverError {
  readonly code?: unknown
  readonly message?: unknown
  readonly cause?: DriverCause
  readonly meta?: { readonly driverAdapterError?: { readonly cause?: DriverCause } }
}

interface DriverCause {
  readonly originalCode?: unknown
  readonly originalMessage?: unknown
}
