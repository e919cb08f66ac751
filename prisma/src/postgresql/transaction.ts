import type { SqlDriverAdapter, SqlQuery } from '@prisma/driver-adapter-utils'

/** A transaction as a connection of its own. */
export interface OpenTransaction {
  /** Scripts are sent whole: the adapter splits them at every semicolon. */
  readonly connection: SqlDriverAdapter
  commit(): Promise<void>
  /** Undoes what is not committed. The connection may be lost. */
  end(): Promise<void>
}

/** Begins a transaction in which the schema engine can work: its locks end with it. */
export async function beginTransaction(adapter: SqlDriverAdapter): Promise<OpenTransaction> {
  const transaction = await adapter.startTransaction('READ COMMITTED')
  const { provider, adapterName } = adapter
  // The engine locks the session, which a pooler would share with others.
  const lockTransaction = ({ sql, ...query }: SqlQuery) => ({
    ...query,
    sql: sql.replace(/\bpg_advisory_lock\(/g, 'pg_advisory_xact_lock('),
  })
  const executeRaw = (query: SqlQuery) => transaction.executeRaw(lockTransaction(query))
  const executeScript = async (sql: string) => void (await executeRaw({ sql, args: [], argTypes: [] }))
  return {
    connection: {
      provider,
      adapterName,
      queryRaw: (query) => transaction.queryRaw(lockTransaction(query)),
      executeRaw,
      executeScript,
      startTransaction: () => Promise.reject(new Error('A transaction is already open')),
      dispose: () => Promise.resolve(),
    },
    commit: () => executeScript('COMMIT'),
    // After a commit, PostgreSQL has nothing to undo, and says so only in its log.
    end: () =>
      executeScript('ROLLBACK')
        .catch(() => {})
        .then(() => transaction.rollback()),
  }
}
