import type { Database, DatabaseState, OpenOptions } from '../database.ts'
import type { PrismaClient } from '../generated/postgresql/client.ts'
import { createPlants } from '../shared/plants.ts'
import { REQUEST_PATIENCE, retryWhile } from '../shared/retry.ts'
import { readSecret } from '../shared/secret.ts'
import type { Sql } from '../shared/sql.ts'
import { createTokens } from '../shared/tokens.ts'
import { isTemporary, retryWhileUnavailable, sqlState, toDatabaseError } from './connection/errors.ts'
import { createPool, type Pool } from './connection/pool.ts'
import { checkPromises, checkSchema, createReadiness } from './connection/promises.ts'
import { describeDatabase, readServerAddress } from './connection/server-address.ts'
import { connectPrisma, type PostgresqlRetry } from './prisma-client.ts'
import { dialect, plantStatements } from './statements.ts'

const SELECT_EMPTY = 'SELECT NOT EXISTS (SELECT 1 FROM "Token") AND NOT EXISTS (SELECT 1 FROM "Plant")'

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
  const address = readServerAddress(url)
  const name = describeDatabase(address)
  const pool = await createPool(address)
  try {
    await retryWhileUnavailable(() => checkPromises(pool.connections, name), options.signal)
    return createDatabase(pool, createRetry(pool, name, options))
  } catch (error) {
    await pool.close()
    options.signal?.throwIfAborted()
    throw toDatabaseError(error, name)
  }
}

function createDatabase(pool: Pool, retry: PostgresqlRetry): Database {
  const { sql } = pool
  let prisma: Promise<PrismaClient> | undefined
  const loadPrisma = () => {
    prisma ??= connectPrisma(pool, retry)
    return prisma
  }
  return {
    engine: 'postgresql',
    plants: createPlants(plantStatements, sql, retry),
    tokens: createTokens({ loadPrisma, sql, dialect, retry }),
    secret: (name) => retry(() => readSecret(sql, dialect, name)),
    isEmpty: async () => (await retry(() => sql.query<[boolean]>(SELECT_EMPTY)))[0]?.[0] === true,
    ...createReadiness(pool.connections),
    state: () => readState(sql),
    connections: pool.counts,
    close: pool.close,
  }
}

/**
 * Creates what runs each operation of requests and of Prisma Client: again while it fails for a moment. An error of SQL is a mistake of this version, unless what the migrations created was taken away meanwhile.
 */
export function createRetry(
  { connections }: Pool,
  database: string,
  { patience = REQUEST_PATIENCE, onRetry }: OpenOptions,
): PostgresqlRetry {
  return async (run, mayRepeat = () => true) => {
    try {
      const isRepeatable = (error: unknown) => isTemporary(error) && mayRepeat()
      return await retryWhile(isRepeatable, run, { patience, onRetry })
    } catch (error) {
      const state = sqlState(error)
      if (state === 'NOT_DURABLE') throw toDatabaseError(error, database)
      if (/^(3F|42)/.test(state)) {
        await checkSchema(connections).catch((cause) => {
          throw toDatabaseError(cause, database)
        })
      }
      throw error
    }
  }
}

/** Reads what an operator watches of a PostgreSQL database. */
async function readState(sql: Sql): Promise<DatabaseState> {
  const [row] = await sql.query<[size: number, lastBackup: number, archiveFailures: number]>(SELECT_STATE)
  const [size, lastBackup, archiveFailures] = row ?? []
  return { size, logSize: undefined, freeSpace: undefined, lastBackup, archiveFailures }
}
