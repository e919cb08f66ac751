import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'

/** A transaction as a connection of its own. */
export interface OpenTransaction {
  /** Scripts are sent whole: the adapter splits them at every semicolon. */
  readonly connection: SqlDriverAdapter
  commit(): Promise<void>
  /** Undoes what is not committed. The connection may be lost. */
  end(): Promise<void>
}

/** Begins a transaction. */
export async function beginTransaction(adapter: SqlDriverAdapter): Promise<OpenTransaction> {
  const transaction = await adapter.startTransaction('READ COMMITTED')
  const { provider, adapterName } = adapter
  const executeScript = async (sql: string) => void (await transaction.executeRaw({ sql, args: [], argTypes: [] }))
  return {
    connection: {
      provider,
      adapterName,
      queryRaw: (query) => transaction.queryRaw(query),
      executeRaw: (query) => transaction.executeRaw(query),
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
