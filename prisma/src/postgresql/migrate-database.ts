import type { MigrateOptions } from '../database.ts'
import { DatabaseError } from '../database-error.ts'
import {
  applyMigrations,
  type Migration,
  migrationsFolders,
  pendingMigrations,
  readMigrations,
  rejectPending,
} from '../shared/migrations.ts'
import { beginTransaction, type Connections, openConnection, QUERY_TIMEOUT } from './connection/connections.ts'
import { retryWhileUnavailable, sqlState, toDatabaseError } from './connection/errors.ts'
import { checkSettings, SERVER } from './connection/promises.ts'
import { describeDatabase, readServerAddress, type ServerAddress } from './connection/server-address.ts'

/** The database that every server has, to connect to while the wanted one does not exist. */
export const MAINTENANCE_DATABASE = 'postgres'
/** The lock of Prisma's own `migrate deploy`, so that both wait for each other. */
const MIGRATION_LOCK = 'pg_advisory_xact_lock(72707369)'

/** What to do, by SQLSTATE. PostgreSQL 15 and newer let only the owner of a database create tables. */
const ADVICE: Record<string, string> = {
  '3F000': '. Create the schema that the search_path of this user names (CREATE SCHEMA), or correct that',
  '42501':
    '. This user must be the owner of the database (ALTER DATABASE ... OWNER TO), or have the right to create tables (GRANT CREATE ON SCHEMA ... TO), and own the tables that exist',
}

/** Migrates a PostgreSQL database, and creates it if it does not exist and this user may. */
export async function migrateDatabase(
  url: string,
  folder: string = migrationsFolders.postgresql,
  { onPending, signal }: MigrateOptions = {},
): Promise<{ applied: string[] }> {
  const address = readServerAddress(url)
  const migrations = await readMigrations(folder)
  try {
    const pending = await findPending(address, migrations, signal).catch(async (error) => {
      if (sqlState(error) !== '3D000') throw error
      await createDatabase(address, signal)
      return migrations
    })
    if (pending.length === 0) return { applied: [] }
    onPending?.(pending.map(({ name }) => name))
    const connections = await openConnection(address, { signal })
    return { applied: await migrate(connections, describeDatabase(address), migrations).finally(connections.close) }
  } catch (error) {
    signal?.throwIfAborted()
    throw toDatabaseError(error, describeDatabase(address))
  }
}

/** Checks that a PostgreSQL database exists and has the newest schema. */
export async function checkMigrated(url: string, folder: string = migrationsFolders.postgresql): Promise<void> {
  const address = readServerAddress(url)
  const database = describeDatabase(address)
  const migrations = await readMigrations(folder)
  try {
    rejectPending(database, await findPending(address, migrations))
  } catch (error) {
    throw toDatabaseError(error, database)
  }
}

/**
 * Creates a database.
 *
 * @throws {DatabaseError} if this user may not create it; the signal's reason
 */
export async function createDatabase(address: ServerAddress, signal?: AbortSignal): Promise<void> {
  const name = `"${address.database.replaceAll('"', '""')}"`
  // Unlike other templates, this one allows any encoding.
  const create = `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`
  const server = { ...address, database: MAINTENANCE_DATABASE }
  const { pool, close } = await openConnection(server, { timeout: QUERY_TIMEOUT, signal })
  try {
    await checkSettings(pool, describeDatabase(address), SERVER)
    await pool.query(create)
  } catch (cause) {
    const state = sqlState(cause)
    // Another process was faster.
    if (/^(42P04|23505)$/.test(state)) return
    if (cause instanceof DatabaseError || state === 'NOT_DURABLE') throw cause
    const reason = `does not exist, and this user cannot create it: run CREATE DATABASE ${name}`
    throw new DatabaseError(`${describeDatabase(address)} ${reason}`, { cause })
  } finally {
    await close()
  }
}

type Migrations = readonly Migration[]

async function findPending(address: ServerAddress, migrations: Migrations, signal?: AbortSignal): Promise<Migration[]> {
  const { adapter, close } = await openConnection(address, { timeout: QUERY_TIMEOUT, signal })
  const find = () => pendingMigrations(adapter, describeDatabase(address), migrations)
  return retryWhileUnavailable(find, signal).finally(close)
}

/** Applies the pending migrations in one transaction, one process after the other. */
async function migrate(connections: Connections, database: string, migrations: Migrations): Promise<string[]> {
  // A server would not start on what is created otherwise.
  await checkSettings(connections.pool, database)
  const { connection, commit, end } = await beginTransaction(connections)
  try {
    await connection.executeScript(`SELECT ${MIGRATION_LOCK}`)
    const applied = await applyMigrations(connection, database, migrations).catch((error: DatabaseError) => {
      throw new DatabaseError(error.message + (ADVICE[sqlState(error.cause)] ?? ''), { cause: error.cause })
    })
    await commit()
    return applied
  } finally {
    await end()
  }
}
