import type { StorageFault, TemporaryFailure } from '../../database.ts'
import { DatabaseError, errorCode, errorReason } from '../../database-error.ts'
import { databaseFile } from './database-file.ts'

const BUSY = /^SQLITE_(BUSY|LOCKED)/
const DISK_FAILURE = /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN)/

type Sentences = readonly (readonly [code: RegExp, sentence: string])[]

const FAULTS: readonly (readonly [code: RegExp, fault: StorageFault])[] = [
  [/^SQLITE_FULL/, 'disk-full'],
  // Also where the file was moved, deleted or replaced.
  [/^SQLITE_READONLY/, 'read-only'],
]

/** For the operator, after the name of the file. */
const STARTUP_SENTENCES: Sentences = [
  [/^SQLITE_NOTADB/, 'is not a SQLite database: point DATABASE_URL at another file'],
  [/^SQLITE_CORRUPT/, 'is damaged: put a backup in its place'],
  [BUSY, 'is locked by another process: stop that one, or wait for it, and retry'],
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, 'cannot be written because the disk is full: free some space and retry'],
  [
    /^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM|EACCES|EPERM|EROFS|EISDIR|ENOTDIR|EEXIST|ENOENT)/,
    'cannot be opened: it must be a file that this user may read and write, in a folder that this user may write to',
  ],
]

/** For `/readyz`. */
const READINESS_SENTENCES: Sentences = [
  [/^SQLITE_READONLY_DBMOVED/, 'The database file was moved, deleted or replaced: put it back, or restart the server.'],
  [BUSY, 'Another process has locked the database for too long: stop it, or wait for it.'],
  [/^SQLITE_FULL/, "The database's disk is full: free some space."],
  [/^SQLITE_IOERR/, "The database's disk reports I/O errors: check that it is mounted and writable."],
  [/^SQLITE_READONLY/, 'The database is read-only: make its files and their disk writable.'],
]

/** Returns whether another connection has locked the database, so that a retry may succeed. */
export function isBusy(error: unknown): boolean {
  return BUSY.test(errorCode(error))
}

/** Returns whether the disk is full, read-only or gone. */
export function isDiskFailure(error: unknown): boolean {
  return DISK_FAILURE.test(errorCode(error))
}

/** Recognizes an error that may go away without a restart. */
export function toTemporaryFailure(error: unknown): TemporaryFailure | undefined {
  if (isBusy(error)) return { fault: 'locked', message: 'The database is busy. Retry the request.', retryAfter: 1 }
  if (!isDiskFailure(error)) return undefined
  const fault = FAULTS.find(([pattern]) => pattern.test(errorCode(error)))?.[1] ?? 'io-error'
  return { fault, message: 'The database is currently unavailable. Retry the request.', retryAfter: 5 }
}

/** Explains for `/readyz` why a write failed. */
export function explainUnwritable(error: unknown): string {
  return sentenceFor(error, READINESS_SENTENCES) ?? `The database cannot be written: ${errorReason(error)}.`
}

/** Creates the error of a database that only a migration creates. */
export function missingDatabase(file: string): DatabaseError {
  return new DatabaseError(`${file} does not exist: run "plant-store migrate" to create it, or check DATABASE_URL`)
}

/** Turns any error met while using `file` into a DatabaseError, with the error as its cause. */
export function toDatabaseError(error: unknown, file: string): DatabaseError {
  if (error instanceof DatabaseError) return error
  const sentence = sentenceFor(error, STARTUP_SENTENCES) ?? `cannot be used: ${errorReason(error)}`
  return new DatabaseError(`${file} ${sentence}`, { cause: error })
}

/** Turns an error of Prisma or SQLite into a DatabaseError, and returns any other error as it is. */
export function explainDatabaseError(error: unknown, url: string): unknown {
  const isOfDatabase = error instanceof Error && /^(PrismaClient|DriverAdapterError|SqliteError)/.test(error.name)
  return isOfDatabase ? toDatabaseError(error, databaseFile(url)) : error
}

function sentenceFor(error: unknown, sentences: Sentences): string | undefined {
  const code = errorCode(error)
  return sentences.find(([pattern]) => pattern.test(code))?.[1]
}
