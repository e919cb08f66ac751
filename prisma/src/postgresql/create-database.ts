import { DatabaseError } from '../database-error.ts'
import { retryWhileUnavailable, sqlState } from './connection/errors.ts'
import { createSingleConnection, QUERY_TIMEOUT } from './connection/pool.ts'
import { describeDatabase, type ServerAddress } from './connection/server-address.ts'

/** The database that every server has, to connect to while the wanted one does not exist. */
export const MAINTENANCE_DATABASE = 'postgres'

/**
 * Creates a database unless it exists.
 *
 * @throws {DatabaseError} if it does not exist and this user may not create it; the signal's reason
 */
export async function createIfMissing(address: ServerAddress, signal?: AbortSignal): Promise<void> {
  const run = async (database: string, sql: string) => {
    const options = { timeout: QUERY_TIMEOUT, signal }
    const { connections, close } = await createSingleConnection({ ...address, database }, options)
    await connections.query(sql).finally(close)
  }
  const name = `"${address.database.replaceAll('"', '""')}"`
  try {
    await retryWhileUnavailable(() => run(address.database, 'SELECT 1'), signal)
  } catch (error) {
    if (sqlState(error) !== '3D000') throw error
    // Unlike other templates, this one allows any encoding.
    const create = `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`
    await run(MAINTENANCE_DATABASE, create).catch((cause) => {
      // Another process was faster.
      if (/^(42P04|23505)$/.test(sqlState(cause))) return
      const reason = `does not exist, and this user cannot create it: run CREATE DATABASE ${name}`
      throw new DatabaseError(`${describeDatabase(address)} ${reason}`, { cause })
    })
  }
}
