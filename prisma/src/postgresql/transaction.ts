import type { SqlDriverAdapter, Transaction } from '@prisma/driver-adapter-utils'

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
  let failure: unknown
  const connection = asConnection(transaction, (error) => {
    failure ??= error
    throw error
  })
  return {
    connection,
    failure: () => failure,
    async commit() {
      await connection.executeScript('COMMIT')
      await transaction.commit()
    },
    async rollback() {
      await connection.executeScript('ROLLBACK').catch(() => {})
      await transaction.rollback()
    },
  }
}

function asConnection(transaction: Transaction, onError: (error: unknown) => never): SqlDriverAdapter {
  // The engine locks the session, which a pooler would share with others.
  const inTransaction = (sql: string) => sql.replace(/\bpg_advisory_lock\(/g, 'pg_advisory_xact_lock(')
  return {
    provider: transaction.provider,
    adapterName: transaction.adapterName,
    queryRaw: (query) => transaction.queryRaw({ ...query, sql: inTransaction(query.sql) }).catch(onError),
    executeRaw: (query) => transaction.executeRaw({ ...query, sql: inTransaction(query.sql) }).catch(onError),
    async executeScript(script) {
      await transaction.executeRaw({ sql: inTransaction(script), args: [], argTypes: [] }).catch(onError)
    },
    startTransaction: () => Promise.reject(new Error('A transaction is already open')),
    dispose: () => Promise.resolve(),
  }
}
