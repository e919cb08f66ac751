import type { SqlQuery } from '@prisma/driver-adapter-utils'
import type { Database, DatabaseState, OpenOptions } from '../database.ts'
import { createOperations } from '../shared/operations.ts'
import { connectOnce, createPrisma, type Prisma, type StatementRunner } from '../shared/prisma-client.ts'
import { REQUEST_PATIENCE } from '../shared/retry.ts'
import type { Sql } from '../shared/sql.ts'
import { beginTransaction, type Connections, onPrimary, openConnections } from './connection/connections.ts'
import { retryWhileUnavailable, toDatabaseError, toTemporaryFailure } from './connection/errors.ts'
import { checkPromises } from './connection/promises.ts'
import { describeDatabase, readServerAddress } from './connection/server-address.ts'
import { createReadiness, failSoon, GRACE, type Readiness, SILENCE } from './readiness.ts'
import { dialect, statements } from './statements.ts'

/**
 * The setting of the database in which docs/production/several-machines records a backup: PostgreSQL's own tools make it.
 * Unlike a table, it needs no migration, and a restored database has none.
 */
const LAST_BACKUP = 'plant_store.last_backup='
const SELECT_STATE = `
  SELECT pg_database_size(current_database())::float8,
    coalesce((
      SELECT extract(epoch FROM substr(setting, length('${LAST_BACKUP}') + 1)::timestamptz)::float8
      FROM pg_db_role_setting, unnest(setconfig) AS setting
      WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()) AND setrole = 0
        AND setting ~ '^${LAST_BACKUP}\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$'
    ), 0),
    (SELECT failed_count::float8 FROM pg_stat_archiver)`

/** Opens a PostgreSQL database. */
export async function openDatabase(url: string, options: OpenOptions = {}): Promise<Database> {
  const { patience = 0, editsPlants = false, signal } = options
  const address = readServerAddress(url)
  const name = describeDatabase(address)
  // PostgreSQL gives a lock up before this, and says so.
  const timeout = Math.max(patience, REQUEST_PATIENCE) + GRACE
  const connections = await openConnections(address, timeout + SILENCE)
  const { pool, sql, counts, close } = connections
  try {
    await retryWhileUnavailable(() => checkPromises(pool, name, editsPlants), signal)
  } catch (error) {
    await close()
    signal?.throwIfAborted()
    throw toDatabaseError(error, name)
  }
  const { retry, whyUnavailable } = createReadiness(pool, name, timeout, options)
  const loadPrisma = connectOnce(() => connectPrisma(connections, retry))
  const { plants, ...others } = createOperations({ sql, dialect, statements, retry, loadPrisma })
  return {
    engine: 'postgresql',
    ...others,
    plants: { ...plants, insert: failSoon(plants.insert) },
    failure: toTemporaryFailure,
    whyUnavailable,
    state: () => readState(sql),
    connections: counts,
    close,
  }
}

/** Reads what an operator watches of a PostgreSQL database. */
async function readState(sql: Sql): Promise<DatabaseState> {
  const [row] = await sql.query<[size: number, lastBackup: number, archiveFailures: number]>(SELECT_STATE)
  const [size, lastBackup, archiveFailures] = row ?? []
  return { size, logSize: undefined, freeSpace: undefined, lastBackup, archiveFailures }
}

/** Connects Prisma Client: a query runs on the primary, and a write in a transaction that commits durably or not at all. */
export async function connectPrisma(connections: Connections, retry: Readiness['retry']): Promise<Prisma> {
  const { adapter, sql } = connections
  // Not at the same time: loading takes longer on a busy machine than the query may.
  const { PrismaClient } = await import('../generated/postgresql/client.ts')
  const rows = await retry(() => sql.query<[schema: string]>('SELECT current_schema()'))

  /** Runs a statement, again unless its commit was sent: that may have happened. */
  function write<Result>(run: (connection: StatementRunner) => Promise<Result>): Promise<Result> {
    let isCommitting = false
    const attempt = async () => {
      const { connection, commit, end } = await beginTransaction(connections)
      try {
        const result = await run(connection)
        isCommitting = true
        await commit()
        return result
      } finally {
        await end()
      }
    }
    return retry(attempt, () => !isCommitting)
  }

  const read = (query: SqlQuery) => retry(() => adapter.queryRaw({ ...query, sql: onPrimary(query.sql) }))
  return createPrisma(PrismaClient, adapter, { read, write }, rows[0]?.[0])
}
