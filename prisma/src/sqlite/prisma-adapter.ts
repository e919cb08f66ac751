import type { SQLInputValue } from 'node:sqlite'
import type { ArgType, ColumnType, SqlQuery, SqlResultSet } from '@prisma/driver-adapter-utils'
import { ColumnTypeEnum, DriverAdapterError } from '@prisma/driver-adapter-utils'
import { StorageError } from '../engine.ts'
import type { Runner } from '../patience.ts'
import { type ClientAdapter, toStatement } from '../prisma-client.ts'
import type { Result, Value } from './connection.ts'
import { codeOf } from './errors.ts'

/**
 * Creates the adapter of Prisma Client. Prisma's own, `@prisma/adapter-better-sqlite3`, needs a native module, prepares
 * each statement at every call, and shares one connection between a transaction and the statements of others
 * (https://github.com/prisma/orm/issues/29933).
 */
export function createClientAdapter(run: Runner<SQLInputValue, Result>['run']): ClientAdapter {
  const runQuery = async ({ sql, args, argTypes }: SqlQuery) => {
    const values = args.map((value, index) => toValue(value, argTypes[index]))
    return run(toStatement(sql), values).catch(throwDriverError)
  }
  return {
    provider: 'sqlite',
    queryRaw: async (query) => toResultSet(await runQuery(query)),
    executeRaw: async (query) => (await runQuery(query)).rowCount,
  }
}

function toValue(value: unknown, type: ArgType | undefined): SQLInputValue {
  if (typeof value === 'boolean') return Number(value)
  const isTime = value instanceof Date || (typeof value === 'string' && type?.scalarType === 'datetime')
  // As Prisma stores a time: text with an offset.
  if (isTime) return new Date(value).toISOString().replace('Z', '+00:00')
  if (typeof value !== 'string') return value as SQLInputValue
  return type?.scalarType === 'int' || type?.scalarType === 'bigint' ? BigInt(value) : value
}

/** The types of schemas that values do not show, as Prisma's engines call them. */
const DECLARED_TYPES: Readonly<Record<string, ColumnType>> = {
  INTEGER: ColumnTypeEnum.Int32,
  BOOLEAN: ColumnTypeEnum.Boolean,
  DATETIME: ColumnTypeEnum.DateTime,
}

function toResultSet({ columns, rows }: Result): SqlResultSet {
  const columnTypes = columns.map(({ type }, index) => DECLARED_TYPES[type?.toUpperCase() ?? ''] ?? typeOf(rows, index))
  return {
    columnNames: columns.map(({ name }) => name),
    columnTypes,
    rows: rows.map((row) => row.map((value, index) => toPrismaValue(value, columnTypes[index]))),
  }
}

/** Returns the type of another column, such as an expression. Prisma Client reads any but an integer as it is. */
function typeOf(rows: Value[][], index: number): ColumnType {
  const value = rows.find((row) => row[index] !== null)?.[index]
  return typeof value === 'bigint' ? ColumnTypeEnum.Int64 : ColumnTypeEnum.Text
}

function toPrismaValue(value: Value, type: ColumnType | undefined): string | number | null {
  if (value === null) return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (type === ColumnTypeEnum.DateTime) return toTime(value)
  if (typeof value !== 'bigint') return value
  return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
}

/**
 * By hand, a time may be milliseconds since 1970, or `CURRENT_TIMESTAMP`, which Prisma would read as local time. What is
 * not a time becomes an invalid date.
 */
function toTime(value: string | number | bigint): string {
  if (typeof value !== 'string') return new Date(Number(value)).toJSON() ?? ''
  return /^[\d-]+[T ][\d:.]+$/.test(value) ? `${value}Z` : value
}

/** Throws what Prisma Client understands of a unique key that is taken, and of another mistake. */
function throwDriverError(error: unknown): never {
  const code = codeOf(error)
  const { message } = error as Error
  if (error instanceof StorageError || !code.startsWith('SQLITE_')) throw error
  const original = { originalCode: code, originalMessage: message }
  // PRIMARYKEY and UNIQUE.
  if (/^SQLITE_CONSTRAINT_(6|8)$/.test(code)) {
    throw new DriverAdapterError({ kind: 'UniqueConstraintViolation', ...original })
  }
  throw new DriverAdapterError({ kind: 'sqlite', extendedCode: 1, message, ...original })
}
