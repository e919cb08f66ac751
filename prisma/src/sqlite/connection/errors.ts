import { realpathSync } from 'node:fs'
import { DriverAdapterError } from '@prisma/driver-adapter-utils'
import type { StorageFault, TemporaryFailure } from '../../database.ts'
import { DatabaseError, errorCode, errorReason, temporaryFailure } from '../../database-error.ts'
import { databaseFile } from './database-file.ts'

const BUSY = /^SQLITE_(BUSY|LOCKED)/
const DAMAGED = /^SQLITE_(CORRUPT|NOTADB)/

/** Codes for what SQLite itself does not see, see `startProcess`. */
export const PROCESS_LATE = 'PROCESS_LATE'
export const PROCESS_ENDED = 'PROCESS_ENDED'

/** Follows the name of a file. */
export const NO_LOCKS = 'is on a disk that does not support locks: put the database on a local disk'

type Sentences = readonly (readonly [code: RegExp, sentence: string])[]

const FAULTS: readonly (readonly [code: RegExp, fault: StorageFault])[] = [
  [BUSY, 'locked'],
  [/^SQLITE_FULL/, 'disk-full'],
  // SQLite also calls a file read-only that was moved, deleted or replaced.
  [/^SQLITE_READONLY/, 'read-only'],
  [DAMAGED, 'damaged'],
  [/^(SQLITE_IOERR|SQLITE_CANTOPEN|PROCESS_LATE)/, 'io-error'],
  [/^PROCESS_ENDED/, 'unavailable'],
]

/** For the operator, after the name of the file. */
const STARTUP_SENTENCES: Sentences = [
  [/^SQLITE_NOTADB/, 'is not a SQLite database: point DATABASE_URL at another file'],
  [/^SQLITE_CORRUPT/, 'is damaged: put a backup in its place'],
  [BUSY, 'is locked by another process: stop that one, or wait for it, and retry'],
  // SQLite's codes for any error of a lock but EAGAIN.
  [/^SQLITE_(PERM|IOERR_(LOCK|RDLOCK|UNLOCK|CHECKRESERVEDLOCK))/, NO_LOCKS],
  // SQLite creates the index of the log with a fixed size, which only a full disk has no room for.
  [
    /^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)/,
    'cannot be written because the disk is full: free some space and retry',
  ],
  [/^(SQLITE_IOERR|EIO)/, 'cannot be read or written: its disk is full or fails; free some space, or check the disk'],
  [/^PROCESS_LATE/, 'cannot be written: its disk does not respond; check the disk'],
  [
    /^(SQLITE_READONLY|SQLITE_CANTOPEN|EACCES|EPERM|EROFS|EISDIR|ENOTDIR|EEXIST|ENOENT)/,
    'cannot be opened: it must be a file that this user may read and write, in a folder that this user may write to',
  ],
]

/** For `/readyz`. */
const READINESS_SENTENCES: Sentences = [
  [/^SQLITE_READONLY_DBMOVED/, 'The database file was moved, deleted or replaced: put it back, or restart the server.'],
  [DAMAGED, 'The database is damaged: stop the server and put a backup in its place.'],
  [BUSY, 'Another process has locked the database for too long: stop it, or wait for it.'],
  [/^SQLITE_FULL/, "The database's disk is full: free some space."],
  [/^SQLITE_IOERR/, "The database's disk reports I/O errors: check that it is mounted and writable."],
  [/^SQLITE_READONLY/, 'The database is read-only: make its files and their disk writable.'],
  [/^PROCESS_LATE/, "The database's disk does not respond: check that it is mounted and not overloaded."],
  [
    /^PROCESS_ENDED/,
    'The process that writes to the database has ended: it is started again. Check the limits of memory and processes.',
  ],
]

/** Returns whether another connection has locked the database, so that a retry may succeed. */
export function isBusy(error: unknown): boolean {
  return faultOf(error) === 'locked'
}

/** Returns why storage failed; undefined for an error of another kind. */
export function faultOf(error: unknown): StorageFault | undefined {
  // The process that writes could not be started, or not open the database again.
  if (error instanceof DatabaseError) return 'unavailable'
  return FAULTS.find(([pattern]) => pattern.test(errorCode(error)))?.[1]
}

/** Recognizes an error that may go away by itself, or once the database is put right. */
export function toTemporaryFailure(error: unknown): TemporaryFailure | undefined {
  const fault = faultOf(error)
  return fault && temporaryFailure(fault, fault === 'locked' ? 'busy' : 'unavailable')
}

/** Explains for `/readyz` why a statement failed. */
export function explainUnavailable(error: unknown): string {
  if (error instanceof DatabaseError) return `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`
  return sentenceFor(error, READINESS_SENTENCES) ?? `The database does not respond: ${errorReason(error)}.`
}

/**
 * Returns the path of the database that a DATABASE_URL names without symbolic links, which may lead elsewhere later.
 *
 * @throws {DatabaseError} if it does not exist: only a migration creates one
 */
export function existingFile(url: string): string {
  const file = databaseFile(url)
  try {
    return realpathSync.native(file)
  } catch (error) {
    if (!/^(ENOENT|ENOTDIR)$/.test(errorCode(error))) throw toDatabaseError(error, file)
    throw new DatabaseError(`${file} does not exist: run "plant-store migrate" to create it, or check DATABASE_URL`)
  }
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

/** An error as it is sent to another process. */
export type PlainError = Pick<Error, 'name' | 'message' | 'cause'> & { code?: unknown }

/** Returns an error as it can be sent. */
export function toPlainError(error: unknown): PlainError {
  const { name, message, code, cause } = error as PlainError
  return { name, message, code, cause: name === 'DriverAdapterError' ? cause : String(cause) }
}

/** Returns the error that was sent. */
export function toError({ name, message, code, cause }: PlainError): Error {
  if (name === 'DriverAdapterError') return new DriverAdapterError(cause as DriverAdapterError['cause'])
  if (name === 'DatabaseError') return new DatabaseError(message, { cause: new Error(String(cause)) })
  return Object.assign(new Error(message), { name, code })
}
