import { ColumnTypeEnum, type SqlDriverAdapter, type SqlResultSet } from '@prisma/driver-adapter-utils'
import type pg from 'pg'
import { createSingleConnection } from '../src/postgresql/connection/pool.ts'
import type { ServerAddress } from '../src/postgresql/connection/server-address.ts'
import { beginTransaction } from '../src/postgresql/transaction.ts'
import { noMigrationsYet } from './engine.ts'

/** A connection to PostgreSQL as the schema engine needs it. */
export interface EngineConnection {
  /** Begins a transaction, which holds the engine's locks: a pooler would share those of a session with others. */
  begin(): Promise<EngineTransaction>
  close(): Promise<void>
}

/** A transaction that goes on after a statement that failed, as without a transaction. */
export interface EngineTransaction {
  readonly adapter: SqlDriverAdapter
  /** Commits what succeeded. */
  commit(): Promise<void>
}

/** Opens a connection for the schema engine. It connects at the first query. */
export async function openEngineConnection(address: ServerAddress): Promise<EngineConnection> {
  const { adapter, connections, close } = await createSingleConnection(address)
  const restoreChars = readCharColumns(connections)

  async function begin(): Promise<EngineTransaction> {
    const { connection, commit, rollback } = await beginTransaction(adapter)
    const alone = async <Result>(run: () => Promise<Result>): Promise<Result> => {
      await connection.executeScript('SAVEPOINT statement')
      try {
        const result = await run()
        await connection.executeScript('RELEASE statement')
        return result
      } catch (error) {
        await connection.executeScript('ROLLBACK TO statement')
        throw error
      }
    }
    return {
      adapter: {
        ...connection,
        queryRaw: (query) => alone(() => connection.queryRaw(query).then(restoreChars)).catch(noMigrationsYet),
        executeRaw: (query) => alone(() => connection.executeRaw(query)),
        executeScript: (script) => alone(() => connection.executeScript(script)),
      },
      commit: () => commit().catch((error) => rollback().then(() => Promise.reject(error))),
    }
  }

  return { begin, close }
}

/** PostgreSQL's numbers of the types "char" and text. */
const CHAR = 18
const TEXT = 25

/**
 * Lets the driver adapter read columns of the type "char", which PostgreSQL's catalogue has and the adapter rejects.
 *
 * @param pool one connection, used for one query after the other
 * @returns restores the type in the result of the last query: the engine accepts no other
 */
function readCharColumns(pool: pg.Pool): (result: SqlResultSet) => SqlResultSet {
  let isChar: boolean[] = []
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (config: pg.QueryArrayConfig) => Promise<pg.QueryArrayResult>
    const queryAndRelabel = async (config: pg.QueryArrayConfig) => {
      const result = await query(config)
      // A script returns one result for each statement.
      const fields = Array.isArray(result) ? [] : result.fields
      isChar = fields.map(({ dataTypeID }) => dataTypeID === CHAR)
      for (const field of fields) if (field.dataTypeID === CHAR) field.dataTypeID = TEXT
      return result
    }
    Object.assign(client, { query: queryAndRelabel })
  })
  return (result) => ({
    ...result,
    columnTypes: result.columnTypes.map((type, index) => (isChar[index] ? ColumnTypeEnum.Character : type)),
  })
}
