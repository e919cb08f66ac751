import type { ArgType, SqlQuery } from '@prisma/driver-adapter-utils'
import type { Connection, SqlValue } from '../shared/sql.ts'
import type { Connections } from './connection/connections.ts'
import { isSilent } from './connection/errors.ts'
import { DURABLY, ON_PRIMARY } from './connection/promises.ts'

// Sent together: PostgreSQL applies changed settings only before it reads what follows.
const COMMIT = `SELECT WHERE ${ON_PRIMARY} AND ${DURABLY}; COMMIT`

// For the adapter, only texts of other types differ.
const TYPE: ArgType = { scalarType: 'string', arity: 'scalar' }
const toQuery = (sql: string, args: SqlValue[]): SqlQuery => ({ sql, args, argTypes: args.map(() => TYPE) })

/** Begins a transaction, which is a connection of its own. */
export async function beginTransaction({ adapter, disconnect }: Connections) {
  const transaction = await adapter.startTransaction('READ COMMITTED')
  const { provider, adapterName } = adapter
  const execute = (sql: string, ...args: SqlValue[]) => transaction.executeRaw(toQuery(sql, args))
  const executeScript = async (sql: string) => void (await execute(sql))
  const connection: Connection = {
    provider,
    adapterName,
    queryRaw: (query) => transaction.queryRaw(query),
    executeRaw: (query) => transaction.executeRaw(query),
    // Sent whole: the adapter splits a script at every semicolon.
    executeScript,
    sql: {
      execute,
      query: async <Row>(sql: string, ...args: SqlValue[]) =>
        (await transaction.queryRaw(toQuery(sql, args))).rows as Row[],
    },
  }
  let isOpen = true
  return {
    connection,

    /** Commits on the primary and durably, or fails. */
    async commit(): Promise<void> {
      await executeScript(COMMIT)
      isOpen = false
    },

    /** Ends it, and undoes what is not committed. The connection may be lost. */
    async end(): Promise<void> {
      if (isOpen) await executeScript('ROLLBACK').catch((error) => isSilent(error) && disconnect())
      await transaction.rollback()
    },
  }
}
