import type { SqlDriverAdapter, Transaction } from '@prisma/driver-adapter-utils'
import type { MigrateOptions } from '../database.ts'
import { DatabaseError } from '../database-error.ts'
import { applyMigrations } from '../migration/apply-migrations.ts'
import { pendingMigrations } from '../migration/migration-history.ts'
import { type Migration, migrationsFolders, readMigrations } from '../migration/migrations.ts'
import { toDatabaseError } from './connection/errors.ts'
import { createSingleConnection } from './connection/pool.ts'
import { retryWhileUnavailable } from './connection/retry-while-unavailable.ts'
import { describeDatabase, readServerAddress } from './connection/server-address.ts'
import { createIfMissing } from './create-database.ts'

/** The lock of Prisma's own `migrate deploy`, so that both wait for each other. */
const MIGRATION_LOCK = 'pg_advisory_xact_lock(72707369)'

/** Migrates a PostgreSQL database, and creates it if it does not exist and this user may. */
export async function migrateDatabase(
  url: string,
  folder: string = migrationsFolders.postgresql,
  { onPending, signal }: MigrateOptions = {},
): Promise<{ applied: string[] }> {
  const address = readServerAddress(url)
  const database = describeDatabase(address)
  const migrations = await readMigrations(folder)
  try {
    await createIfMissing(address, signal)
    const { adapter, close } = await createSingleConnection(address, signal)
    try {
      const pending = await pendingMigrations(adapter, database, migrations)
      if (pending.length === 0) return { applied: [] }
      onPending?.(pending.map(({ name }) => name))
      return { applied: await migrate(adapter, database, migrations) }
    } finally {
      await close()
    }
  } catch (error) {
    signal?.throwIfAborted()
    throw toDatabaseError(error, database)
  }
}

/** Checks that a PostgreSQL database exists and has the newest schema. */
export async function checkMigrated(url: string, folder: string = migrationsFolders.postgresql): Promise<void> {
  const address = readServerAddress(url)
  const database = describeDatabase(address)
  const migrations = await readMigrations(folder)
  try {
    const { adapter, close } = await createSingleConnection(address)
    const find = () => pendingMigrations(adapter, database, migrations)
    const pending = await retryWhileUnavailable(find).finally(close)
    if (pending.length === 0) return
    const names = pending.map(({ name }) => name).join(', ')
    throw new DatabaseError(`${database} needs the migrations ${names}: run "plant-store migrate"`)
  } catch (error) {
    throw toDatabaseError(error, database)
  }
}

/** Applies the pending migrations in one transaction, one process after the other. */
async function migrate(
  adapter: SqlDriverAdapter,
  database: string,
  migrations: readonly Migration[],
): Promise<string[]> {
  const transaction = await adapter.startTransaction('READ COMMITTED')
  const connection = asConnection(transaction)
  try {
    await connection.executeScript(`SELECT ${MIGRATION_LOCK}`)
    // A newer version may have been faster. Where another process of this version was, the engine finds nothing pending.
    await pendingMigrations(connection, database, migrations)
    const applied = await applyMigrations(connection, migrations).catch((error: Error) => {
      throw new DatabaseError(`${database} was not migrated and is unchanged: ${error.message}`, { cause: error.cause })
    })
    await connection.executeScript('COMMIT')
    await transaction.commit()
    return applied
  } catch (error) {
    await connection.executeScript('ROLLBACK').catch(() => {})
    await transaction.rollback()
    throw error
  }
}

/** Presents a transaction as a connection, whose scripts are sent whole: the adapter splits them at every semicolon. */
function asConnection(transaction: Transaction): SqlDriverAdapter {
  // The schema engine locks the session, which a pooler would share with others.
  const inTransaction = (sql: string) => sql.replace(/\bpg_advisory_lock\(/g, 'pg_advisory_xact_lock(')
  return {
    provider: transaction.provider,
    adapterName: transaction.adapterName,
    queryRaw: (query) => transaction.queryRaw({ ...query, sql: inTransaction(query.sql) }),
    executeRaw: (query) => transaction.executeRaw({ ...query, sql: inTransaction(query.sql) }),
    async executeScript(script) {
      await transaction.executeRaw({ sql: inTransaction(script), args: [], argTypes: [] })
    },
    startTransaction: () => Promise.reject(new Error('A transaction is already open')),
    dispose: () => Promise.resolve(),
  }
}
