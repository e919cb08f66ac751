import type { ArgType, ColumnType, SqlDriverAdapter, SqlQuery } from '@prisma/driver-adapter-utils'
import { ColumnTypeEnum } from '@prisma/driver-adapter-utils'
import BetterSqlite3 from 'better-sqlite3'
import { rejectTransaction, writeTime } from '../engine.ts'
import { translate } from './errors.ts'

/** What a result may hold. Blobs are not among it: no column has one. */
type Value = string | number | bigint | null

type Statement = BetterSqlite3.Statement<unknown[], Value[]>

/** How to connect. */
export interface ConnectOptions {
  readonly readonly?: boolean
  /** How long SQLite waits for another connection's lock, which blocks the thread, in milliseconds. Default: 0. */
  readonly timeout?: number
}

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
 * Connects to a SQLite file that exists, as Prisma's driver adapter: `@prisma/adapter-better-sqlite3` without what this
 * database does not have. That package asks for better-sqlite3 12, which has to be compiled where its binaries cannot
 * be downloaded, prepares each statement at every call, which takes 10 to 30 microseconds, and shares one connection
 * between a transaction and the statements of others (https://github.com/prisma/orm/issues/29933), so transactions are
 * rejected.
 *
 * @throws {StorageError} if it cannot be opened
 */
export function connect(file: string, { readonly = false, timeout = 0 }: ConnectOptions = {}): SqlDriverAdapter {
  const run = <Result>(operation: () => Result): Result => {
    try {
      return operation()
    } catch (error) {
      throw translate(error, file)
    }
  }
  const sqlite = run(() => new BetterSqlite3(file, { fileMustExist: file !== ':memory:', readonly, timeout }))
  const statements = new Map<string, Statement>()
  // Integers above 2^53 are read exactly.
  sqlite.defaultSafeIntegers(true)

  function prepare(sql: string): Statement {
    const known = statements.get(sql)
    if (known) return known
    const statement = sqlite.prepare<unknown[], Value[]>(sql)
    if (statement.reader) statement.raw()
    statements.set(sql, statement)
    return statement
  }

  return {
    provider: 'sqlite',
    adapterName: '@plant-store/prisma',
    queryRaw: async (query) =>
      run(() => {
        const statement = prepare(query.sql)
        if (statement.reader) return toResult(statement.columns(), statement.all(...toArguments(query)))
        statement.run(...toArguments(query))
        return toResult([], [])
      }),
    executeRaw: async (query) => run(() => prepare(query.sql).run(...toArguments(query)).changes),
    executeScript: async (script) => run(() => void sqlite.exec(script)),
    startTransaction: rejectTransaction,
    dispose: async () => void sqlite.close(),
  }
}

/** Returns what better-sqlite3 takes: parameters such as `$1` by name. Those of Prisma Client are `?`. */
function toArguments({ sql, args, argTypes }: SqlQuery): unknown[] {
  const values = args.map((value, index) => toArgument(value, argTypes[index]))
  return /\$1\b/.test(sql) ? [Object.fromEntries(values.map((value, index) => [index + 1, value]))] : values
}

function toArgument(value: unknown, type: ArgType | undefined): unknown {
  if (typeof value === 'boolean') return Number(value)
  if (value instanceof Date) return writeTime(value)
  if (typeof value !== 'string') return value
  if (type?.scalarType === 'datetime') return writeTime(new Date(value))
  return type?.scalarType === 'int' || type?.scalarType === 'bigint' ? BigInt(value) : value
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
  if (value === null) return value
  if (type === ColumnTypeEnum.DateTime) return toTime(value)
  if (typeof value === 'string') return value
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
  return type === ColumnTypeEnum.Int32 ? Math.trunc(value) : value
}

/** By hand, a time may be milliseconds since 1970, or `CURRENT_TIMESTAMP`, which Prisma would read as local time. */
function toTime(value: string | number | bigint): string {
  if (typeof value !== 'string') return new Date(Number(value)).toISOString()
  return /(Z|[+-]\d\d:\d\d)$/i.test(value) ? value : `${value}Z`
}
