import type { SqlDriverAdapter, SqlQueryable, Transaction } from '@prisma/driver-adapter-utils'
import type { Prisma } from '../shared/sql.ts'
import { onPrimary, type Pool } from './connection/pool.ts'
import { beginTransaction } from './transaction.ts'

/**
 * Runs an operation, again while it fails for a moment.
 *
 * @param mayRepeat whether it may run once more after an error; default: always
 */
export type PostgresqlRetry = <Result>(run: () => Promise<Result>, mayRepeat?: () => boolean) => Promise<Result>

/** What is not a write for certain. */
const READ = /^\s*SELECT\b/i

/**
 * Connects Prisma Client, on which every operation keeps what the plant store promises: it reads on the primary, commits
 * durably or not at all, and is retried where it cannot have happened.
 */
export async function connectPrisma(pool: Pool, retry: PostgresqlRetry): Promise<Prisma> {
  const [{ PrismaClient }, rows] = await Promise.all([
    import('../generated/postgresql/client.ts'),
    retry(() => pool.sql.query<[schema: string]>('SELECT current_schema()')),
  ])
  const connection = createConnection(pool, retry, rows[0]?.[0])
  const { provider, adapterName } = connection
  const adapter = { provider, adapterName, connect: async () => connection }
  // The default format quotes the source code around the call.
  return new PrismaClient({ adapter, errorFormat: 'minimal' }) as unknown as Prisma
}

function createConnection(pool: Pool, retry: PostgresqlRetry, schemaName = 'public'): SqlDriverAdapter {
  const { adapter } = pool

  /** Runs a statement in a transaction, again unless its commit was sent: that may have happened. */
  function write<Result>(run: (connection: SqlQueryable) => Promise<Result>): Promise<Result> {
    let isCommitting = false
    const attempt = async () => {
      const { connection, commit, end } = await beginTransaction(pool)
      try {
        const result = await run(connection)
        isCommitting = true
        await commit()
        return result
      } finally {
        await end()
      }
    }
    return retry(attempt, () => !isCommitting)
  }

  return {
    provider: adapter.provider,
    adapterName: adapter.adapterName,
    queryRaw: (query) =>
      READ.test(query.sql)
        ? retry(() => adapter.queryRaw({ ...query, sql: onPrimary(query.sql) }))
        : write((connection) => connection.queryRaw(query)),
    executeRaw: (query) => write((connection) => connection.executeRaw(query)),
    executeScript: () => Promise.reject(new Error('Scripts are not supported: write statements.')),

    async startTransaction(isolationLevel): Promise<Transaction> {
      const { connection, commit, end } = await retry(() => beginTransaction(pool, isolationLevel))
      return {
        ...connection,
        // Prisma would commit by itself otherwise, without the check.
        options: { usePhantomQuery: true },
        commit: () => commit().finally(end),
        rollback: end,
      }
    },

    // Where Prisma Client looks for the tables.
    getConnectionInfo: () => ({ schemaName, supportsRelationJoins: true }),
    dispose: () => Promise.resolve(),
  }
}
