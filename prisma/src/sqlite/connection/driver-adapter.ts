import {
  type ArgType,
  type ColumnType,
  ColumnTypeEnum,
  DriverAdapterError,
  type Error as DriverErrorDescription,
  type SqlDriverAdapter,
  type SqlQuery,
} from '@prisma/driver-adapter-utils'
import type BetterSqlite3 from 'better-sqlite3'
import { errorCode } from '../../database-error.ts'
import { rejectTransaction } from '../../shared/prisma-client.ts'
import type { Connection, SqlValue } from '../../shared/sql.ts'

/** What a result may hold. Blobs are not among it: no column has one. */
type Value = string | number | bigint | null

/** A connection to a SQLite file. */
export type SqliteConnection = Connection & SqlDriverAdapter

type Statement = BetterSqlite3.Statement<unknown[], Value[]>

/** The types that SQLite's schemas name, as Prisma's engines call them. */
const DECLARED_TYPES: Readonly<Record<string, ColumnType>> = {
  INT: ColumnTypeEnum.Int32,
  INTEGER: ColumnTypeEnum.Int32,
  BIGINT: ColumnTypeEnum.Int64,
  REAL: ColumnTypeEnum.Double,
  TEXT: ColumnTypeEnum.Text,
  BOOLEAN: ColumnTypeEnum.Boolean,
  DATETIME: ColumnTypeEnum.DateTime,
}

/**
 * Creates Prisma's driver adapter of a better-sqlite3 connection: `@prisma/adapter-better-sqlite3` without what this
 * database does not have. That package asks for better-sqlite3 12, which has to be compiled where its binaries cannot be
 * downloaded, prepares each statement at every call, which takes 10 to 30 microseconds, and shares one connection between
 * a transaction and the statements of others (https://github.com/prisma/orm/issues/29933), so transactions are rejected.
 */
export function createDriverAdapter(database: BetterSqlite3.Database): SqliteConnection {
  const statements = new Map<string, Statement>()
  // Integers above 2^53 are read exactly.
  database.defaultSafeIntegers(true)

  function prepare(sql: string): Statement {
    const known = statements.get(sql)
    if (known) return known
    const statement = database.prepare<unknown[], Value[]>(sql)
    if (statement.reader) statement.raw()
    statements.set(sql, statement)
    return statement
  }

  const execute = (sql: string, args: unknown[]) => withErrors(() => prepare(sql).run(...args).changes)

  return {
    provider: 'sqlite',
    adapterName: '@plant-store/prisma',
    queryRaw: async (query) =>
      withErrors(() => {
        const statement = prepare(query.sql)
        return toResult(statement.reader ? statement.columns() : [], readRows(statement, toArguments(query)))
      }),
    executeRaw: async (query) => execute(query.sql, toArguments(query)),
    executeScript: async (script) => withErrors(() => void database.exec(script)),
    startTransaction: rejectTransaction,
    dispose: async () => void database.close(),
    sql: {
      execute: async (sql, ...values) => execute(sql, toNamed(values)),
      query: async <Row extends readonly SqlValue[]>(sql: string, ...values: SqlValue[]) =>
        withErrors(() =>
          readRows(prepare(sql), toNamed(values)).map((row) => row.map(toNumber) as readonly SqlValue[] as Row),
        ),
    },
  }
}

/** Runs a statement and returns its rows: none where it is no query. */
function readRows(statement: Statement, args: unknown[]): Value[][] {
  if (statement.reader) return statement.all(...args)
  statement.run(...args)
  return []
}

/** Names the parameters `$1` and so on, which better-sqlite3 does not take by place. Those of Prisma Client are `?`. */
function toNamed(values: SqlValue[]): unknown[] {
  return values.length === 0 ? [] : [Object.fromEntries(values.map((value, index) => [index + 1, value]))]
}

function toArguments({ args, argTypes }: SqlQuery): unknown[] {
  return args.map((value, index) => toArgument(value, argTypes[index]))
}

function toArgument(value: unknown, type: ArgType | undefined): unknown {
  if (typeof value === 'boolean') return Number(value)
  // Prisma stores and compares times as text with an offset.
  if (value instanceof Date) return value.toISOString().replace('Z', '+00:00')
  if (typeof value !== 'string') return value
  switch (type?.scalarType) {
    case 'datetime':
      return toArgument(new Date(value), type)
    case 'int':
    case 'bigint':
      return BigInt(value)
    default:
      return value
  }
}

function toResult(columns: BetterSqlite3.ColumnDefinition[], rows: Value[][]) {
  const columnTypes = columns.map(({ type }, index) => DECLARED_TYPES[type?.toUpperCase() ?? ''] ?? typeOf(rows, index))
  return {
    columnNames: columns.map(({ name }) => name),
    columnTypes,
    rows: rows.map((row) => row.map((value, index) => toPrismaValue(value, columnTypes[index]))),
  }
}

/** Returns the type of the first value of an expression, which has no declared type. */
function typeOf(rows: Value[][], index: number): ColumnType {
  const value = rows.find((row) => row[index] !== null)?.[index]
  if (typeof value === 'string') return ColumnTypeEnum.Text
  if (typeof value === 'bigint') return ColumnTypeEnum.Int64
  return typeof value === 'number' ? ColumnTypeEnum.UnknownNumber : ColumnTypeEnum.Int32
}

function toPrismaValue(value: Value, type: ColumnType | undefined): string | number | null {
  if (value === null || typeof value === 'string') return value
  // Written by hand as milliseconds since 1970.
  if (type === ColumnTypeEnum.DateTime) return new Date(Number(value)).toISOString()
  return type === ColumnTypeEnum.Int32 && typeof value === 'number' ? Math.trunc(value) : toNumber(value)
}

function toNumber(value: Value): string | number | null {
  if (typeof value !== 'bigint') return value
  return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
}

function withErrors<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    const code = errorCode(error)
    if (!code.startsWith('SQLITE_')) throw error
    throw sqliteError(code, (error as Error).message)
  }
}

/** Describes an error as far as Prisma's engines tell errors apart. */
function describe(code: string, message: string): DriverErrorDescription {
  const [, table] = /^no such table: (.*)$/.exec(message) ?? []
  if (table !== undefined) return { kind: 'TableDoesNotExist', table }
  if (/^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)$/.test(code)) return { kind: 'UniqueConstraintViolation' }
  if (code.startsWith('SQLITE_BUSY')) return { kind: 'SocketTimeout' }
  return { kind: 'sqlite', extendedCode: 1, message }
}

/** Creates an error in SQLite's form, for what SQLite itself does not see. */
export function sqliteError(originalCode: string, originalMessage: string): DriverAdapterError {
  return new DriverAdapterError({ originalCode, originalMessage, ...describe(originalCode, originalMessage) })
}
