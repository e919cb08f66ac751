/** What an engine is: what it does for a database, what a statement says, and what storage fails with. */

import type { PrismaClient } from './generated/sqlite/client.ts'

/**
 * What an engine does for one database. Everything that it throws because of the database is a {@link StorageError}.
 */
export interface Engine {
  /** Names it in logs and metrics. */
  readonly name: 'sqlite' | 'postgresql'
  /** Names the database at the beginning of messages, without user and password. */
  readonly subject: string
  /** What it runs for requests. */
  readonly statements: Statements
  /** Selects the names of all tables but the engine's own, where all that was confirmed is seen. */
  readonly selectTables: string
  /** The type of a time in the table of applied migrations. */
  readonly timeType: string
  /** Where its migrations are. */
  readonly migrationsFolder: string
  /**
   * Opens the database for requests. Loading its Prisma Client takes 0.2 s.
   *
   * @param patience how long a statement waits for a database that is locked or not reachable, in milliseconds
   */
  open(patience: number): Promise<OpenedDatabase>
  /** Creates the database if it does not exist; absent where the engine cannot. */
  create?: () => Promise<void>
  /** Copies the database to a new file, `target`; absent where the engine's own tools do that. */
  backup?: (target: string, onStep: OnStep) => Promise<void>
  /** Opens a connection of its own to read. On PostgreSQL, it connects at the first statement. */
  beginReading(): Promise<Session>
  /**
   * Opens a connection of its own, with a transaction that keeps other migrations out, and that no time limit ends.
   *
   * @param onStep is called where another process is migrating, on PostgreSQL
   */
  beginWriting(onStep: OnStep): Promise<Transaction>
}

/**
 * A database that an engine has opened: the one place where its promises are kept. It keeps them by what a statement
 * says, and never looks at its text.
 */
export interface OpenedDatabase {
  /** Reads, on the primary, what was confirmed, and returns the rows. It is retried no longer than the patience. */
  read<Row extends unknown[]>(statement: ReadStatement, values: SqlValue[]): Promise<Row[]>
  /**
   * Stores durably, or fails, and returns how many rows it has changed. It is retried no longer than the
   * patience: where it cannot have happened, or, on PostgreSQL, the statement says that it may run twice.
   */
  write(statement: WriteStatement, values: SqlValue[]): Promise<number>
  /** For tokens, secrets and what an operation adds: a layer over the two. */
  readonly prisma: Prisma
  /** What an operator should check, in a sentence. */
  readonly warning?: string | undefined
  /** Fails if requests would fail now. It waits for the database as long as they do. */
  probe(): Promise<void>
  /** Closes it. Call it once, after the last query. */
  close(): Promise<void>
}

/**
 * Prisma Client of either engine; only `seq` is a bigint on PostgreSQL. What it runs keeps the promises of
 * {@link OpenedDatabase}.
 */
export type Prisma = Pick<PrismaClient, '$queryRawUnsafe' | '$executeRawUnsafe'> & {
  readonly [Model in 'plant' | 'token' | 'secret']: Omit<PrismaClient[Model], 'findUnique' | 'findUniqueOrThrow'>
}

/** A statement that only reads. It may run twice. */
export interface ReadStatement {
  readonly kind: 'read'
  /** Its text. The first parameter is `$1`. */
  readonly sql: string
}

/** A statement that writes, and may return rows too. */
export interface WriteStatement {
  readonly kind: 'write'
  /** Its text. The first parameter is `$1`. */
  readonly sql: string
  /** Whether it may run twice: then it is retried also where it may have happened, such as after a lost connection. */
  readonly mayRunTwice: boolean
}

/**
 * A connection of one task, outside of what requests do. Disposing closes it: what is not committed is undone. The first
 * parameter of a statement is `$1`.
 */
export interface Session extends AsyncDisposable {
  /** Runs a statement, and returns its rows. */
  query<Row extends unknown[]>(sql: string, ...values: SqlValue[]): Promise<Row[]>
}

/** A connection with a transaction. */
export interface Transaction extends Session {
  /** Runs several statements. */
  executeScript(script: string): Promise<unknown>
  /** Commits durably, or fails. */
  commit(): Promise<void>
}

/** Is called with a sentence about what a long task does now, how much of it is done, or what it waits for. */
export type OnStep = (step: string) => void

/** The statements that each engine writes itself: those that most requests need. */
export interface Statements {
  /** Inserts plants in order, each unless its account has the id: a JSON array of [account, id, name, tag]. */
  readonly insertPlants: WriteStatement
  /**
   * Selects for each plant, in order, whether the stored one has its name and tag, NULL if its account lacks its id: as
   * `insertPlants`. Of a text with another length, no more than the length is read.
   */
  readonly comparePlants: ReadStatement
  /**
   * Selects a piece of a list, the first plants of a range, with the parameters that `Plants.read` gives. One row: the
   * plants as JSON objects separated by commas, NULL if one is too long; the `seq` of the last, 0 if there is none;
   * whether more follow in the range; and the version of the list.
   */
  readonly selectPiece: ReadStatement
  /** Selects for each account of a JSON array, in order, the version of its list and the `seq` of its last plant. */
  readonly selectStates: ReadStatement
  /**
   * Selects for each hash of a JSON array, in order, its token: id, account, scopes, and the times of expiry and
   * revocation in milliseconds since 1970; all NULL if there is none. A value that is not a time is 1970: a token that
   * has expired rather than one that never does.
   */
  readonly selectTokens: ReadStatement
}

/** What a statement takes. */
export type SqlValue = string | number | null

/**
 * Why storage fails; `unavailable`: what serves the database does not respond, rejects this server or is not set up.
 */
export const storageFaults = ['locked', 'disk-full', 'read-only', 'io-error', 'damaged', 'unavailable'] as const

/** Why storage fails. */
export type StorageFault = (typeof storageFaults)[number]

/** What is known of a {@link StorageError} besides its message. */
export type StorageErrorFields = Partial<Omit<StorageError, 'name' | 'message' | 'stack'>>

/**
 * The database cannot be used as it is now. The message is one sentence for the operator: which database, and what to
 * do. Every error that is not one of these is a mistake in the program.
 */
export class StorageError extends Error {
  override readonly name = 'StorageError'
  /** The kind, for metrics and for what to do next. */
  readonly fault: StorageFault
  /** When a client should retry its request, in seconds. */
  readonly retryAfter: number
  /** Whether it may go away within a moment, so that the same statement may succeed. */
  readonly isTemporary: boolean
  /** What the message begins with, where that is not {@link Engine.subject}: a file that belongs to the database. */
  readonly subject: string | undefined

  /** @param fields default: unavailable until an operator has fixed it */
  constructor(message: string, fields: StorageErrorFields = {}) {
    super(message, { cause: fields.cause })
    this.fault = fields.fault ?? 'unavailable'
    this.retryAfter = fields.retryAfter ?? 5
    this.isTemporary = fields.isTemporary ?? false
    this.subject = fields.subject
  }
}
