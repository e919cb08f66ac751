import type { Database, OnProgress, OpenOptions } from './database.ts'
import type { PlantStatements } from './plants.ts'
import type { Connection, GeneratedClient } from './prisma-client.ts'
import type { TokenStatements } from './tokens.ts'

/** What an engine does for one database. Everything that it throws because of the database is a {@link StorageError}. */
export interface Engine {
  readonly name: Database['engine']
  /** Names the database in messages, without user and password. */
  readonly database: string
  readonly dialect: Dialect
  /** How long a startup waits for a database that is locked, migrated by another process, or not reachable, in milliseconds. */
  readonly startupPatience: number
  /** Where its migrations are. */
  readonly migrationsFolder: string
  /** Loads its Prisma Client, which takes 0.2 s. */
  loadClient(): Promise<GeneratedClient>
  /** Opens the database for requests. */
  open(options: OpenOptions): Promise<OpenedDatabase>
  /** Creates the database if it does not exist, and the engine can do that. */
  create(): Promise<void>
  /** Copies the database to a new file; absent where the engine's own tools do that. */
  backup?: (copy: string, onProgress?: OnProgress) => Promise<void>
  /** Returns the size of SQLite's log, in bytes; absent where the engine's own tools show it. */
  logBytes?: () => Promise<number>
  /** Opens a connection of its own to read, which sees what was acknowledged. */
  beginReading(): Promise<Transaction>
  /** Opens a connection of its own, with a transaction that keeps other migrations out. */
  beginWriting(): Promise<Transaction>
  /** Takes from other roles the rights to tables that they have by default; absent where an engine has no roles. */
  revokeRights?: (connection: Connection, tables: readonly string[]) => Promise<void>
}

/** A database that an engine has opened. */
export interface OpenedDatabase extends Pick<Database, 'close'> {
  /**
   * What Prisma Client, and the statements past it, run on. The one place where the engine's promises are kept: a statement
   * sees what was acknowledged, is stored durably or fails, waits no longer than the patience, and is repeated only where it
   * cannot have happened or inserts what is not there yet.
   */
  readonly adapter: Connection
  /** Fails if requests would fail now. It waits for no lock: it is repeated while that may help. */
  probe(): Promise<void>
}

/** A connection for one task. */
export interface Transaction {
  readonly connection: Connection
  /** Commits durably, or fails. */
  commit(): Promise<void>
  /** Closes the connection. What is not committed is undone. */
  close(): Promise<void>
}

/** The statements of an engine. */
export type Dialect = PlantStatements & TokenStatements
