/** What an engine is: what it does for a database, what statements run on, and what storage fails with. */

import type { SqlDriverAdapter, SqlDriverAdapterFactory, SqlQuery } from '@prisma/driver-adapter-utils'
import type { PrismaClient } from './generated/sqlite/client.ts'

/**
 * What an engine does for one database. Everything that it throws because of the database is a {@link StorageError}.
 */
export interface Engine {
  /** Names it in logs and metrics. */
  readonly name: 'sqlite' | 'postgresql'
  /** Names the database at the beginning of messages, without user and password. */
  readonly subject: string
  /** What it runs for requests and migrations. */
  readonly statements: Statements
  /**
   * How long a startup waits for a database that is locked, migrated by another process, or not reachable, in
   * milliseconds.
   */
  readonly startupPatience: number
  /** Where its migrations are. */
  readonly migrationsFolder: string
  /** Loads its Prisma Client, which takes 0.2 s. */
  loadClient(): Promise<GeneratedClient>
  /** Opens the database for requests. */
  open(options: OpenOptions): Promise<OpenedDatabase>
  /** Creates the database if it does not exist; absent where the engine cannot. */
  create?: () => Promise<void>
  /** Copies the database to a new file, `target`; absent where the engine's own tools do that. */
  backup?: (target: string, onProgress?: OnProgress) => Promise<void>
  /** Returns the size of SQLite's log, in bytes; absent where the engine's own tools show it. */
  logBytes?: () => Promise<number>
  /** Opens a connection of its own to read, which sees what was confirmed. */
  beginReading(): Promise<Session>
  /** Opens a connection of its own, with a transaction that keeps other migrations out. */
  beginWriting(): Promise<Transaction>
  /** Takes from other roles the rights to tables that they have by default; absent where an engine has no roles. */
  revokeRights?: (connection: Connection, tables: readonly string[]) => Promise<void>
}

/** A database that an engine has opened. */
export interface OpenedDatabase {
  /**
   * What Prisma Client, and the statements past it, run on. The one place where the engine's promises are kept: a
   * statement sees what was confirmed, is stored durably or fails, waits no longer than the patience, and is retried
   * only where it cannot have happened or inserts what is not there yet.
   */
  readonly adapter: Adapter
  /** Fails if requests would fail now. It waits for no lock: it is retried while that may help. */
  probe(): Promise<void>
  /** Closes it. Call it once, after the last query. */
  close(): Promise<void>
}

/** A connection for one task. Disposing closes it: what is not committed is undone. */
export interface Session extends AsyncDisposable {
  /** What its statements run on. */
  readonly connection: Connection
}

/** A connection with a transaction. */
export interface Transaction extends Session {
  /** Commits durably, or fails. */
  commit(): Promise<void>
}

/** How to open a database. */
export interface OpenOptions {
  /** How long a statement waits for a database that is locked or not reachable, in milliseconds. Default: 2000. */
  patience?: number
}

/** Is called with how much of a long step is done: bytes, rows or migrations. */
export type OnProgress = (done: number, total: number) => void

/**
 * The statements that each engine writes: those that most requests need, and those of migrations. The first parameter
 * is `$1`.
 */
export interface Statements {
  /**
   * Inserts plants in order, each unless its account has the id, so that it may run twice: a JSON array of [account,
   * id, name, tag].
   */
  readonly insertPlants: string
  /**
   * Selects for each plant, in order, whether the stored one has its name and tag, NULL if its account lacks its id: as
   * `insertPlants`, as "isSame". Of a text with another length, no more than the length is read.
   */
  readonly comparePlants: string
  /**
   * Selects a piece of a list, the first plants of a range: `$1` account, `$2` the `seq` before the range, `$3` its
   * last `seq`, `$4` how many plants, `$5` the most bytes of a plant's texts and, on average, of its JSON; `$6`… a text
   * for each filter. One row: "json", the plants as JSON objects separated by commas, NULL if one is too long; "last",
   * the `seq` of the last, 0 if there is none; "more", whether more follow in the range; and the "version" of the list.
   */
  selectPiece(filters: readonly string[]): string
  /** Selects for each account of a JSON array, in order, the version of its list and the `seq` of its last plant. */
  readonly selectStates: string
  /**
   * Selects the tokens whose hashes are in a JSON array: its columns, times in milliseconds since 1970. A value that is
   * not a time is 1970: a token that has expired rather than one that never does.
   */
  readonly selectTokens: string
  /** Selects the names of all tables but the engine's own, as `name`. */
  readonly selectTables: string
  /** The type of a time in the table of applied migrations. */
  readonly timeType: string
}

/**
 * Prisma Client of either engine; only `seq` is a bigint on PostgreSQL. What it runs keeps the promises of
 * {@link OpenedDatabase}.
 */
export type Prisma = Pick<PrismaClient, '$queryRawUnsafe' | '$executeRawUnsafe'> & {
  readonly [Model in 'plant' | 'token' | 'secret']: Omit<PrismaClient[Model], 'findUnique' | 'findUniqueOrThrow'>
}

/** The Prisma Client that is generated for an engine. */
export type GeneratedClient = new (options: { adapter: SqlDriverAdapterFactory; errorFormat: 'minimal' }) => object

/**
 * The part of Prisma's driver adapter that requests need: what runs on it keeps the promises of {@link OpenedDatabase}.
 */
export interface Adapter extends Pick<SqlDriverAdapter, 'provider' | 'queryRaw' | 'executeRaw'> {
  /** Where Prisma Client looks for the tables, on PostgreSQL. */
  readonly schemaName?: string
}

/** The part of Prisma's driver adapter that a {@link Session} needs. */
export type Connection = Pick<SqlDriverAdapter, 'queryRaw' | 'executeRaw' | 'executeScript'>

/** What a statement takes. */
export type SqlValue = string | number | null

/**
 * Whether a statement only reads: Prisma Client gives an adapter no more than its text. One that writes by a function,
 * such as `SELECT setval(...)`, must not be a request's: what it has written on PostgreSQL may be lost.
 */
export function isRead({ sql }: SqlQuery): boolean {
  return /^\s*SELECT\b/i.test(sql)
}

/** Rejects what would let statements of others into a transaction: https://github.com/prisma/orm/issues/29933. */
export function rejectTransaction(): Promise<never> {
  return Promise.reject(new Error('Transactions are not supported: write what belongs together as one statement.'))
}

/** Writes a time as Prisma stores it in SQLite, as text with an offset. */
export function writeTime(time: Date): string {
  return time.toISOString().replace('Z', '+00:00')
}

/** Makes a statement for an adapter, without Prisma Client. */
export function toQuery(sql: string, ...values: SqlValue[]): SqlQuery {
  const argTypes = values.map((value) => ({
    scalarType: typeof value === 'number' ? ('bigint' as const) : ('string' as const),
    arity: 'scalar' as const,
  }))
  return { sql, args: values, argTypes }
}

/** Returns the rows of a query, as objects by column name. */
export async function select<Row = Record<string, unknown>>(
  connection: Pick<Connection, 'queryRaw'>,
  sql: string,
  ...values: SqlValue[]
): Promise<Row[]> {
  const { columnNames, rows } = await connection.queryRaw(toQuery(sql, ...values))
  return rows.map((row) => Object.fromEntries(columnNames.map((name, index) => [name, row[index]])) as Row)
}

/**
 * Why storage fails; `unavailable`: what serves the database does not respond, rejects this server or is not set up.
 */
export const storageFaults = ['locked', 'disk-full', 'read-only', 'io-error', 'damaged', 'unavailable'] as const

/** Why storage fails. */
export type StorageFault = (typeof storageFaults)[number]

/** What is known of a {@link StorageError} besides its message. */
export type StorageErrorFields = Pick<StorageError, 'fault' | 'retryAfter' | 'isTemporary'>

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

  /** @param fields default: unavailable until an operator has fixed it */
  constructor(message: string, fields: Partial<StorageErrorFields> & { cause?: unknown } = {}) {
    super(message, { cause: fields.cause })
    this.fault = fields.fault ?? 'unavailable'
    this.retryAfter = fields.retryAfter ?? 5
    this.isTemporary = fields.isTemporary ?? false
  }
}
