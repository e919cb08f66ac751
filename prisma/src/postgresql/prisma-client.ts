import type { SqlQuery, SqlQueryable } from '@prisma/driver-adapter-utils'
import { type Prisma, prismaOptions } from '../shared/prisma-client.ts'
import { type Connections, onPrimary } from './connection/connections.ts'
import type { PostgresqlRetry } from './retry.ts'
import { beginTransaction } from './transaction.ts'

/** Connects Prisma Client: a query runs on the primary, and a write in a transaction that commits durably or not at all. */
export async function connectPrisma(connections: Connections, retry: PostgresqlRetry): Promise<Prisma> {
  const { adapter, sql } = connections
  const [{ PrismaClient }, rows] = await Promise.all([
    import('../generated/postgresql/client.ts'),
    retry(() => sql.query<[schema: string]>('SELECT current_schema()')),
  ])

  /** Runs a statement, again unless its commit was sent: that may have happened. */
  function write<Result>(run: (connection: SqlQueryable) => Promise<Result>): Promise<Result> {
    let isCommitting = false
    const attempt = async () => {
      const { connection, commit, end } = await beginTransaction(connections)
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

  const statements = {
    read: (query: SqlQuery) => retry(() => adapter.queryRaw({ ...query, sql: onPrimary(query.sql) })),
    write,
  }
  return new PrismaClient(prismaOptions(adapter, statements, rows[0]?.[0])) as unknown as Prisma
}
