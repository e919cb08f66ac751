import type {
  SqlDriverAdapter,
  SqlDriverAdapterFactory,
  SqlQuery,
  SqlQueryable,
  SqlResultSet,
} from '@prisma/driver-adapter-utils'
import type { PrismaClient } from '../generated/sqlite/client.ts'

/**
 * Prisma Client of either engine; only `seq` is a bigint on PostgreSQL. Each of its operations keeps what the plant store
 * promises by itself: it is durable once it has succeeded, sees what was acknowledged, and is retried where it cannot have
 * happened. A write has to be one statement, since transactions of several are rejected.
 */
export type Prisma = Pick<PrismaClient, 'plant' | 'token' | 'secret' | 'edits'>

/** What runs a statement that may write. */
export type StatementRunner = Pick<SqlQueryable, 'queryRaw' | 'executeRaw'>

/** How an engine runs the statements of Prisma Client. */
export interface PrismaStatements {
  read(query: SqlQuery): Promise<SqlResultSet>
  /** Runs one statement that may write, as a transaction of its own. */
  write<Result>(run: (connection: StatementRunner) => Promise<Result>): Promise<Result>
}

/** Prisma Client gives an adapter no more than the text of a query: only a SELECT is certain not to write. */
const READ = /^\s*SELECT\b/i

/** Rejects what would let statements of others into a transaction: https://github.com/prisma/orm/issues/29933. */
export function rejectTransaction(): Promise<never> {
  return Promise.reject(new Error('Transactions are not supported: write what belongs together as one statement.'))
}

/**
 * Returns the options of Prisma Client for an engine.
 *
 * @param schemaName where Prisma Client looks for the tables, on PostgreSQL
 */
export function prismaOptions(
  { provider, adapterName }: Pick<SqlDriverAdapter, 'provider' | 'adapterName'>,
  { read, write }: PrismaStatements,
  schemaName?: string,
): { adapter: SqlDriverAdapterFactory; errorFormat: 'minimal' } {
  const connection: SqlDriverAdapter = {
    provider,
    adapterName,
    queryRaw: (query) => (READ.test(query.sql) ? read(query) : write(({ queryRaw }) => queryRaw(query))),
    executeRaw: (query) => write(({ executeRaw }) => executeRaw(query)),
    executeScript: rejectTransaction,
    startTransaction: rejectTransaction,
    getConnectionInfo: () => ({ supportsRelationJoins: false, ...(schemaName !== undefined && { schemaName }) }),
    dispose: async () => {},
  }
  // The default format of errors quotes the source code around the call.
  return { adapter: { provider, adapterName, connect: async () => connection }, errorFormat: 'minimal' }
}

/** Connects Prisma Client at its first use, which takes 0.2 s and 50 MB, and again where that has failed. */
export function connectOnce(connect: () => Promise<Prisma>): () => Promise<Prisma> {
  let prisma: Promise<Prisma> | undefined
  return () => {
    prisma ??= connect().catch((error) => {
      prisma = undefined
      throw error
    })
    return prisma
  }
}
