import type { SqlDriverAdapter, SqlQueryable } from '@prisma/driver-adapter-utils'
import type { ListState, Retry } from '../database.ts'
import type { Prisma } from './prisma-client.ts'

/** What a statement takes and returns. */
export type SqlValue = string | number | boolean | null

/**
 * SQL past Prisma Client and its query engine, with which a raw statement takes three times the CPU time: 15 microseconds
 * instead of 5 for the shortest (Prisma 7.10, Node.js 24). The first parameter is `$1`.
 */
export interface Sql {
  /** Runs a statement and returns how many rows it changed. */
  execute(sql: string, ...values: SqlValue[]): Promise<number>
  /**
   * Runs a query and returns its rows, values in the order of its columns; an integer above 2^53 as text. Times and
   * JSON differ between the drivers: select them as numbers or text.
   */
  query<Row extends readonly SqlValue[]>(sql: string, ...values: SqlValue[]): Promise<Row[]>
}

/** One connection, as Prisma's driver adapter, and SQL past what that needs. */
export interface Connection extends SqlQueryable, Pick<SqlDriverAdapter, 'executeScript'> {
  readonly sql: Sql
}

/** How the SQL of an engine differs. */
export interface Dialect {
  /** A condition that makes a write fail where it would not be durable. */
  readonly durably: string
  /** The table of a JSON array, the first parameter: `key`, by which it is ordered, and `value`. */
  readonly elements: string
  /** The time as Prisma stores it. */
  readonly now: string
  /** Selects the texts of a JSON array, the first parameter. */
  readonly texts: string
  /** Reads the time of a column, in milliseconds since 1970; NULL if it is not one. */
  readTime(column: string): string
}

/** What a database is read and written with. */
export interface Access {
  readonly sql: Sql
  readonly dialect: Dialect
  readonly statements: PlantStatements
  /** Runs again what may run twice, even if it has succeeded. */
  readonly retry: Retry
  /** See `connectOnce`. */
  loadPrisma(): Promise<Prisma>
}

/** Returns the rows of a query without parameters, as objects by column name. */
export async function select(connection: SqlQueryable, sql: string): Promise<Record<string, unknown>[]> {
  const { columnNames, rows } = await connection.queryRaw({ sql, args: [], argTypes: [] })
  return rows.map((row) => Object.fromEntries(columnNames.map((name, index) => [name, row[index]])))
}

/** The states of so many lists are read by one statement: more would cost enough for PostgreSQL to compile it. */
export const MAX_STATES = 32
/**
 * The news of a state are at most so many plants, and so many bytes of JSON; each plant has its part of these. Nothing is
 * reserved for them: a thousand lists of one turn of the event loop bring 8 MB, and no longer text is turned into JSON.
 */
export const MAX_NEWS_PLANTS = 64
export const MAX_NEWS_BYTES = 2 ** 13

/** The SQL of an engine for plants. Parameters are `$1`, `$2` and so on; every statement may run twice. */
export interface PlantStatements {
  /** Inserts a plant, unless its account has the id: account, id, name, tag. */
  readonly insertOne: string
  /** Inserts plants in order, each unless its account has the id: a JSON array of [account, id, name, tag]. */
  readonly insertMany: string
  /**
   * Selects for each plant, in order, whether the stored one has its name and tag, NULL if its account lacks its id: as
   * `insertMany`. Of a text with another length, no more than the length is read.
   */
  readonly compareStored: string
  /**
   * Selects the first plants in a part of a list: account, the `seq` before it, its last one, how many plants, the maximum
   * of bytes of each, as text and on average as JSON. One row: the plants as JSON objects separated by commas, NULL if one is
   * too long; the `seq` of the last, 0 if there is none; whether more follow in this part.
   */
  readonly selectPiece: string
  /** Selects lists, a row for each as {@link ListState}: a JSON array of [account, last, lastCreatedAt]. */
  readonly selectStates: string
}

/** Writes the statements that both engines have alike. An engine that needs another one assigns it after these. */
export function writeStatements({
  durably,
  elements,
  now,
}: Dialect): Pick<PlantStatements, 'insertOne' | 'insertMany'> {
  const insert = 'INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")'
  const unlessStored = 'ON CONFLICT ("account", "id") DO NOTHING'
  return {
    insertOne: `${insert} SELECT $1, $2, $3, $4, ${now} WHERE ${durably} ${unlessStored}`,
    // 500 rows as 2,000 parameters take five times as long.
    insertMany: `${insert}
      SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, ${now} FROM ${elements}
      WHERE ${durably} ORDER BY key ${unlessStored}`,
  }
}
