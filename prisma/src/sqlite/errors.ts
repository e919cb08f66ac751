import { StorageError, type StorageFault } from '../engine.ts'

/** Codes for what SQLite itself does not see. */
export const MOVED = 'MOVED'
export const WRITER_LATE = 'WRITER_LATE'

/** The primary codes of SQLite, by their numbers: https://sqlite.org/rescode.html */
const CODES =
  'OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB'.split(
    ' ',
  )

/** Returns the code of an error: SQLite's primary one, such as `SQLITE_IOERR_9` with the number that extends it. */
export function codeOf(error: unknown): string {
  const { code = '', errcode } = error as NodeJS.ErrnoException & { errcode?: number }
  if (errcode === undefined) return code
  const extension = errcode >> 8
  return `SQLITE_${CODES[errcode & 0xff]}${extension === 0 ? '' : `_${extension}`}`
}

/** A mistake in SQL. */
const MISTAKE = /^SQLITE_ERROR .*(syntax error|unrecognized token|incomplete input)/

/**
 * The codes of SQLite, of the system and of this folder: what each means, and what an operator should do, after the
 * name of the file. `$` is SQLite's message.
 */
const STATES: readonly (readonly [code: RegExp, fault: StorageFault, sentence: string])[] = [
  [
    /^SQLITE_(ERROR|SCHEMA)/,
    'unavailable',
    'does not have the schema of its migrations ($): undo what changed it, or restore a backup',
  ],
  [/^SQLITE_NOTADB/, 'damaged', 'is not a SQLite database: point DATABASE_URL at another file, or restore a backup'],
  [/^SQLITE_CORRUPT/, 'damaged', 'is damaged: stop the server and put a backup in its place'],
  [
    /^SQLITE_(BUSY|LOCKED|PROTOCOL)/,
    'locked',
    'is locked by another process: stop that one, or wait for it; if there is none, its disk may not support locks: put it on a local disk',
  ],
  // SQLite creates the index of the log with a fixed size, which only a full disk has no room for: SHMSIZE.
  [
    /^(SQLITE_FULL|SQLITE_IOERR_19$|ENOSPC|EDQUOT)/,
    'disk-full',
    'cannot be written because the disk is full: free some space and retry',
  ],
  // Also any error of a lock but EAGAIN, and of shared memory.
  [
    /^(SQLITE_(IOERR|PERM)|EIO)/,
    'io-error',
    'cannot be read, written or locked, I/O errors: free some space, check the disk, or put the database on a local one',
  ],
  [/^MOVED$/, 'read-only', 'was moved, deleted or replaced: put it back, or restart the server'],
  [
    /^(SQLITE_READONLY|EROFS)/,
    'read-only',
    'is read-only: its files must be ones that this user may write, on a disk that is writable',
  ],
  [
    /^(SQLITE_CANTOPEN|EACCES|EPERM|EISDIR|ENOTDIR|EEXIST|ENOENT)/,
    'io-error',
    'cannot be opened: it must be a file that this user may read and write, in a folder that this user may write to',
  ],
  [
    /^WRITER_LATE$/,
    'io-error',
    'cannot be written: its disk does not respond; check that it is mounted and not overloaded',
  ],
]

/** Creates the error of a state. */
export function stateError(file: string, code: string, cause?: unknown): StorageError {
  const known = STATES.find(([pattern]) => pattern.test(code))
  const [, fault, sentence] = known ?? [code, 'unavailable', `cannot be used (${code})`]
  const isTemporary = fault === 'locked'
  const reason = sentence.replace('$', () => (cause as Error).message)
  const retryAfter = isTemporary ? 1 : 5
  return new StorageError(`${file} ${reason}`, { fault, isTemporary, retryAfter, subject: file, cause })
}

/** Translates an error of SQLite or the system. A unique key that is taken, and a mistake in SQL, stay as they are. */
export function translate(error: unknown, file: string): unknown {
  if (error instanceof StorageError) return error
  const { syscall, message } = error as NodeJS.ErrnoException
  const code = codeOf(error)
  const isState = !MISTAKE.test(`${code} ${message}`) && STATES.some(([pattern]) => pattern.test(code))
  return syscall || isState ? stateError(file, code, error) : error
}

/** Returns an error as data, which another thread gets as it is: of errors it keeps no class and no code. */
export function toPlainError(error: unknown): object {
  const { message, stack } = error as Error
  return { ...(error as Error), message, stack }
}

/** Returns the error of what {@link toPlainError} returned. */
export function toError(plain: object): Error {
  const { message, ...fields } = plain as StorageError
  return 'fault' in plain ? new StorageError(message, fields) : Object.assign(new Error(message), fields)
}
