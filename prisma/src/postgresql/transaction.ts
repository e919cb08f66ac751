import type { IsolationLevel, SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import type { Connections } from './connection/connections.ts'
import { isSilent } from './connection/errors.ts'
import { DURABLY, ON_PRIMARY } from './connection/promises.ts'

/** A transaction as a connection of its own. */
export interface OpenTransaction {
  /** Scripts are sent whole: the adapter splits them at every semicolon. */
  readonly connection: SqlDriverAdapter
  /** Commits on the primary and durably, or fails. */
  commit(): Promise<void>
  /** Ends it, and undoes what is not committed. The connection may be lost. */
  end(): Promise<void>
}

// Sent together: PostgreSQL applies changed settings only before it reads what follows.
const COMMIT = `SELECT WHERE ${ON_PRIMARY} AND ${DURABLY}; COMMIT`

/** Begins a transaction on one of the connections. */
export async function beginTransaction(
  { adapter, disconnect }: Connections,
  isolationLevel: IsolationLevel = 'READ COMMITTED',
): Promise<OpenTransaction> {
  const transaction = await adapter.startTransaction(isolationLevel)
  const { provider, adapterName } = adapter
  const executeScript = async (sql: string) => void (await transaction.executeRaw({ sql, args: [], argTypes: [] }))
  let isOpen = true
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
    async commit() {
      await executeScript(COMMIT)
      isOpen = false
    },
    async end() {
      if (isOpen) await executeScript('ROLLBACK').catch((error) => isSilent(error) && disconnect())
      await transaction.rollback()
    },
  }
}
