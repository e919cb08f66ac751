import type { Database, DatabaseState, OpenOptions, Plants } from '../database.ts'
import { createOperations } from '../shared/operations.ts'
import { REQUEST_PATIENCE, retryWhile } from '../shared/retry.ts'
import type { Prisma, Sql } from '../shared/sql.ts'
import { isTemporary, retryWhileUnavailable, sqlState, toDatabaseError } from './connection/errors.ts'
import { createPool, type Pool } from './connection/pool.ts'
import { checkPromises, createReadiness, whyNotInOrder } from './connection/promises.ts'
import { describeDatabase, readServerAddress } from './connection/server-address.ts'
import { connectPrisma, type PostgresqlRetry } from './prisma-client.ts'
import { dialect, plantStatements } from './statements.ts'

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

/** How long a request waits for the database in all, beyond its patience for retries, in milliseconds. */
const GRACE = 300
/** After how much longer its connection is given up, in milliseconds. */
const SILENCE = 2_000
/** How long a write waits after one that waited too long, in milliseconds. */
const LATE_PATIENCE = 400

/** Opens a PostgreSQL database. */
export async function openDatabase(url: string, options: OpenOptions = {}): Promise<Database> {
  const { editsPlants = false, signal } = options
  const address = readServerAddress(url)
  const name = describeDatabase(address)
  // PostgreSQL gives a lock up before this, and says so.
  const timeout = Math.max(options.patience ?? 0, REQUEST_PATIENCE) + GRACE
  const pool = await createPool(address, timeout + SILENCE)
  try {
    await retryWhileUnavailable(() => checkPromises(pool.connections, name, editsPlants), signal)
    return createDatabase(pool, createRetry(pool, name, timeout, options), editsPlants)
  } catch (error) {
    await pool.close()
    signal?.throwIfAborted()
    throw toDatabaseError(error, name)
  }
}

function createDatabase(pool: Pool, retry: PostgresqlRetry, editsPlants: boolean): Database {
  const { sql } = pool
  let prisma: Promise<Prisma> | undefined
  const loadPrisma = () => {
    prisma ??= connectPrisma(pool, retry).catch((error) => {
      prisma = undefined
      throw error
    })
    return prisma
  }
  const { plants, ...others } = createOperations(plantStatements, { sql, dialect, retry, loadPrisma })
  return {
    engine: 'postgresql',
    ...others,
    plants: { ...plants, insert: failSoon(plants.insert) },
    ...createReadiness(pool.connections, editsPlants),
    state: () => readState(sql),
    connections: pool.counts,
    close: pool.close,
  }
}

/**
 * Creates what runs each operation of requests and of Prisma Client: again while it fails for a moment, until the time is
 * up. An error of SQL is a mistake of this version, unless what the migrations created was taken away meanwhile.
 *
 * @param timeout how long an operation may take in all, in milliseconds
 */
export function createRetry(
  { connections }: Pool,
  database: string,
  timeout: number,
  { patience = REQUEST_PATIENCE, onRetry, editsPlants = false }: OpenOptions,
): PostgresqlRetry {
  return async (run, mayRepeat = () => true) => {
    try {
      const isRepeatable = (error: unknown) => isTemporary(error) && mayRepeat()
      return await within(timeout, retryWhile(isRepeatable, run, { patience, onRetry }))
    } catch (error) {
      const state = sqlState(error)
      if (state === 'NOT_DURABLE') throw toDatabaseError(error, database)
      if (/^(3F|42)/.test(state)) {
        await whyNotInOrder(connections, editsPlants).catch((cause) => {
          throw toDatabaseError(cause, database)
        })
      }
      throw error
    }
  }
}

/** Rejects where an operation takes longer than some milliseconds, by default with the driver's own error for that. */
function within<Result>(
  timeout: number,
  running: Promise<Result>,
  makeError: () => unknown = () => new Error('Query read timeout'),
): Promise<Result> {
  return new Promise((resolve, reject) => {
    // Where it was this process that was busy, the response is read first.
    const timer = setTimeout(() => setImmediate(() => reject(makeError())), timeout)
    running.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/**
 * Lets writes fail soon after one that has waited too long, as long as the next one waits too: those who wait for their turn
 * have waited for both.
 */
function failSoon(insert: Plants['insert']): Plants['insert'] {
  let failure: { readonly error: unknown } | undefined
  let waiting = 0
  return async (plants) => {
    if (failure && waiting > 0) throw failure.error
    waiting++
    const begin = performance.now()
    const inserting = insert(plants).finally(() => waiting--)
    inserting.then(
      () => {
        failure = undefined
      },
      (error) => {
        failure = performance.now() - begin > REQUEST_PATIENCE / 2 ? { error } : undefined
      },
    )
    const late = failure
    return late ? within(LATE_PATIENCE, inserting, () => late.error) : inserting
  }
}

/** Reads what an operator watches of a PostgreSQL database. */
async function readState(sql: Sql): Promise<DatabaseState> {
  const [row] = await sql.query<[size: number, lastBackup: number, archiveFailures: number]>(SELECT_STATE)
  const [size, lastBackup, archiveFailures] = row ?? []
  return { size, logSize: undefined, freeSpace: undefined, lastBackup, archiveFailures }
}
