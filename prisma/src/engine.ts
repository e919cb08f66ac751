import type { Database, OpenOptions } from './database.ts'
import type { Connection, GeneratedClient } from './prisma-client.ts'

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
  backup?: (copy: string) => Promise<void>
  /** Opens a connection of its own to read, which sees what was acknowledged. */
  beginReading(): Promise<Transaction>
  /** Opens a connection of its own, with a transaction that keeps other migrations out. */
  beginWriting(): Promise<Transaction>
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

/**
 * How the SQL of an engine differs. The first parameter of a statement is `$1`. Every statement that writes is one that
 * inserts what is not there yet, so that it may run twice.
 */
export interface Dialect {
  /** Inserts plants in order, each unless its account has the id: a JSON array of [account, id, name, tag]. */
  readonly insertPlants: string
  /**
   * Selects for each plant, in order, whether the stored one has its name and tag, NULL if its account lacks its id: as
   * `insertPlants`, as "isSame". Of a text with another length, no more than the length is read.
   */
  readonly comparePlants: string
  /**
   * Selects the first plants in a part of a list: account, the `seq` before it, its last one, how many plants, the maximum
   * of bytes of each, as text and on average as JSON. One row: "json", the plants as JSON objects separated by commas, NULL
   * if one is too long; "last", the `seq` of the last, 0 if there is none; "more", whether more follow in this part; and
   * the "version" of the list.
   */
  readonly selectPart: string
  /** Selects for each account of a JSON array, in order, the version of its list and the `seq` of its last plant. */
  readonly selectStates: string
  /** Selects the tokens whose hashes are in a JSON array: its columns, times in milliseconds since 1970. */
  readonly selectTokens: string
  /** Reads the time of a column, in milliseconds since 1970; NULL if it is not one. */
  readTime(column: string): string
}

/** What the statements of an engine are made of, where both have the same. */
interface Parts {
  /** A condition that makes a write fail where it would not be durable. */
  readonly durably: string
  /** The table of a JSON array, the first parameter: `key`, by which it is ordered, and `value`. */
  readonly elements: string
  /** The time as Prisma stores it. */
  readonly now: string
  /** Selects the texts of a JSON array, the first parameter. */
  readonly texts: string
  readTime: Dialect['readTime']
}

/** Writes the statements that both engines have alike. */
export function writeStatements({
  durably,
  elements,
  now,
  texts,
  readTime,
}: Parts): Pick<Dialect, 'insertPlants' | 'selectTokens' | 'readTime'> {
  // A value that is not a time reads as 1970: a token that has expired rather than one that never does.
  const times = ['"createdAt"', '"expiresAt"', '"revokedAt"'].map(
    (column) => `CASE WHEN ${column} IS NOT NULL THEN coalesce(${readTime(column)}, 0) END AS ${column}`,
  )
  return {
    // 500 rows as 2,000 parameters take five times as long.
    insertPlants: `
      INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")
      SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, ${now} FROM ${elements}
      WHERE ${durably} ORDER BY key ON CONFLICT ("account", "id") DO NOTHING`,
    selectTokens: `
      SELECT "hash", "id", "account", "scopes", "label", ${times.join(', ')} FROM "Token"
      WHERE "hash" IN (${texts})`,
    readTime,
  }
}
