import type { SqlDriverAdapter, SqlDriverAdapterFactory, SqlQuery, SqlQueryable } from '@prisma/driver-adapter-utils'
import type { PrismaClient } from './generated/sqlite/client.ts'

/**
 * Prisma Client of either engine; only `seq` is a bigint on PostgreSQL. Each of its operations keeps what the plant store
 * XX */
export type Prisma = Pick<PrismaClient, '$queryRawUnsafe' | '$executeRawUnsafe'> & {
  readonly [Model in 'plant' | 'token' | 'secret']: Omit<PrismaClient[Model], 'findUnique' | 'findUniqueOrThrow'>
}

/** The Prisma Client that is generated for an engine. */
export type GeneratedClient = new (options: { adapter: SqlDriverAdapterFactory; errorFormat: 'minimal' }) => object

/** Prisma's driver adapter, as far as it differs here: transactions are rejected, and others close the connection. */
export interface Connection extends SqlQueryable, Pick<SqlDriverAdapter, 'executeScript'> {
  /** Where Prisma Client looks for the tables, on PostgreSQL. */
  readonly schemaName?: string
}

/** What a statement takes. */
export type SqlValue = string | number | null

/** Prisma Client gives an adapter no more than the text of a statement: only a SELECT is certain not to write. */
const READ = /^\s*SELECT\b/i

/** Whether a statement is certain not to write. */
export function isRead({ sql }: SqlQuery): boolean {
  return READ.test(sql)
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
  connection: SqlQueryable,
  sql: string,
  ...values: SqlValue[]
): Promise<Row[]> {
  const { columnNames, rows } = await connection.queryRaw(toQuery(sql, ...values))
  return rows.map((row) => Object.fromEntries(columnNames.map((name, index) => [name, row[index]])) as Row)
}

/** Creates the Prisma Client of an engine. */
export function createPrisma(Client: GeneratedClient, connection: Connection): Prisma {
  const { provider, adapterName, schemaName } = connection
  const driverAdapter: SqlDriverAdapter = {
    ...connection,
    startTransaction: rejectTransaction,
    getConnectionInfo: () => ({ supportsRelationJoins: false, ...(schemaName !== undefined && { schemaName }) }),
    dispose: async () => {},
  }
  const adapter = { provider, adapterName, connect: async () => driverAdapter }
  // The default format of errors quotes the source code around the call.
  return new Client({ adapter, errorFormat: 'minimal' }) as Prisma
}
