import type { ArgType, SqlQuery } from '@prisma/driver-adapter-utils'
import type { Connection, SqlValue } from '../shared/sql.ts'
import type { Connections } from './connection/connections.ts'
import { isSilent } from './connection/errors.ts'
import { DURABLY, ON_PRIMARY } from './connection/promises.ts'

/** A transaction as a connection of its own. */
export interface OpenTransaction {
  /** Scripts are sent whole: the adapter splits them at every semicolon. */
  readonly connection: Connection
  /** Commits on the primary and durably, or fails. */
  commit(): Promise<void>
  /** Ends it, and undoes what is not committed. The connection may be lost. */
  end(): Promise<void>
}

// Sent together: PostgreSQL applies changed settings only before it reads what follows.
const COMMIT = `SELECT WHERE ${ON_PRIMARY} AND ${DURABLY}; COMMIT`

// For the adapter, only texts of other types differ.
const TYPE: ArgType = { scalarType: 'string', arity: 'scalar' }
const toQuery = (sql: string, args: SqlValue[]): SqlQuery => ({ sql, args, argTypes: args.map(() => TYPE) })

/** Begins a transaction on one of the connections. */
export async function beginTransaction({ adapter, disconnect }: Connections): Promise<OpenTransaction> {
  const transaction = await adapter.startTransaction('READ COMMITTED')
  const { provider, adapterName } = adapter
  const execute = (sql: string, ...args: SqlValue[]) => transaction.executeRaw(toQuery(sql, args))
  const executeScript = async (sql: string) => void (await execute(sql))
  let isOpen = true
  return {
    connection: {
      provider,
      adapterName,
      queryRaw: (query) => transaction.queryRaw(query),
      executeRaw: (query) => transaction.executeRaw(query),
      executeScript,
      sql: {
        execute,
        query: async <Row>(sql: string, ...args: SqlValue[]) =>
          (await transaction.queryRaw(toQuery(sql, args))).rows as Row[],
      },
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
