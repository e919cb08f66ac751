import type { ArgType, SqlQueryable } from '@prisma/driver-adapter-utils'
import type { Retry } from '../database.ts'
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
  /** For what may run twice, even if it has succeeded. */
  readonly retry: Retry
  /** See `connectOnce`. */
  loadPrisma(): Promise<Prisma>
}

/** Creates the SQL interface of a driver adapter. */
export function createSql(connection: SqlQueryable): Sql {
  // For the adapter, only texts of other types differ.
  const type: ArgType = { scalarType: 'string', arity: 'scalar' }
  return {
    execute: (sql, ...args) => connection.executeRaw({ sql, args, argTypes: args.map(() => type) }),
    async query<Row>(sql: string, ...args: SqlValue[]) {
      return (await connection.queryRaw({ sql, args, argTypes: args.map(() => type) })).rows as Row[]
    },
  }
}

/** Returns the rows of a query without parameters, as objects by column name. */
export async function select(connection: SqlQueryable, sql: string): Promise<Record<string, unknown>[]> {
  const { columnNames, rows } = await connection.queryRaw({ sql, args: [], argTypes: [] })
  return rows.map((row) => Object.fromEntries(columnNames.map((name, index) => [name, row[index]])))
}
