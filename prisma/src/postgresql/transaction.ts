import type { SqlDriverAdapter, SqlQuery } from '@prisma/driver-adapter-utils'

/** A transaction in which the schema engine works. */
export interface MigrationTransaction {
  /** The transaction as a connection. Scripts are sent whole: the adapter splits them at every semicolon. */
  readonly connection: SqlDriverAdapter
  /** Returns the error of the first statement that failed: the engine's own error may have another text, and its stack. */
  failure(): unknown
  commit(): Promise<void>
  /** Ends the transaction, also where the connection is lost or the commit failed. */
  rollback(): Promise<void>
}

/** Begins a transaction for the schema engine, whose locks end with it. */
export async function beginTransaction(adapter: SqlDriverAdapter): Promise<MigrationTransaction> {
  const transaction = await adapter.startTransaction('READ COMMITTED')
  const { provider, adapterName } = adapter
  let failure: unknown

  const run = async <Result>(method: (query: SqlQuery) => Promise<Result>, query: SqlQuery): Promise<Result> => {
    // The engine locks the session, which a pooler would share with others.
    const sql = query.sql.replace(/\bpg_advisory_lock\(/g, 'pg_advisory_xact_lock(')
    try {
      return await method.call(transaction, { ...query, sql })
    } catch (error) {
      failure ??= error
      throw error
    }
  }
  const executeRaw = (query: SqlQuery) => run(transaction.executeRaw, query)
  const executeScript = async (sql: string) => void (await executeRaw({ sql, args: [], argTypes: [] }))

  return {
    connection: {
      provider,
      adapterName,
      queryRaw: (query) => run(transaction.queryRaw, query),
      executeRaw,
      executeScript,
      startTransaction: () => Promise.reject(new Error('A transaction is already open')),
      dispose: () => Promise.resolve(),
    },
    failure: () => failure,
    commit: () => executeScript('COMMIT').then(() => transaction.commit()),
    rollback: () =>
      executeScript('ROLLBACK')
        .catch(() => {})
        .then(() => transaction.rollback()),
  }
}
