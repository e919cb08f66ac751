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
  try {
    await retryWhileUnavailable(() => execute(address, 'SELECT 1', signal), signal)
  } catch (error) {
    if (sqlState(error) !== '3D000') throw error
    await create(address, signal)
  }
}

async function create(address: ServerAddress, signal: AbortSignal | undefined): Promise<void> {
  const name = `"${address.database.replaceAll('"', '""')}"`
  try {
    // Unlike other templates, this one allows any encoding.
    const sql = `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`
    await execute({ ...address, database: MAINTENANCE_DATABASE }, sql, signal)
  } catch (error) {
    const state = sqlState(error)
    // Another process was faster.
    if (state === '42P04' || state === '23505') return
    const database = describeDatabase(address)
    throw new DatabaseError(`${database} does not exist, and this user cannot create it: run CREATE DATABASE ${name}`, {
      cause: error,
    })
  }
}

async function execute(address: ServerAddress, sql: string, signal: AbortSignal | undefined): Promise<void> {
  const { adapter, close } = await createSingleConnection(address, { timeout: QUERY_TIMEOUT, signal })
  await adapter.executeScript(sql).finally(close)
}
