import path from 'node:path'
import { type OpenOptions, StorageError } from '../database.ts'
import type { Engine, OpenedDatabase, Transaction } from '../engine.ts'
import { createWriteGate, limitTime, REQUEST_PATIENCE, retry, STARTUP_PAUSE } from '../patience.ts'
import { type Connection, select, toQuery } from '../prisma-client.ts'
import { type Address, describeDatabase, readAddress } from './address.ts'
import { createAdapter } from './driver-adapter.ts'
import { isLocked, lateError } from './errors.ts'
import { checkSettings, describeIntruders, ON_PRIMARY, proveGuarantees, revokeRights } from './guarantees.ts'
import { openPool, openSharedPool } from './pool.ts'
import { dialect } from './statements.ts'

/** How long an operation waits for the database in all, beyond its patience for retries, in milliseconds. */
const GRACE = 300
/** After how much longer its connection is given up, in milliseconds. */
const SILENCE = 2_000
/** After this time a startup gives a statement up, in milliseconds: the network is silent. */
const QUERY_TIMEOUT = 12_000
/** The server may be starting too. */
const STARTUP_PATIENCE = 10_000

/** The lock of Prisma's own `migrate deploy`, so that both wait for each other. */
const MIGRATION_LOCK = 'SELECT pg_advisory_xact_lock(72707369)'

/** Creates the engine of a PostgreSQL database. */
export function createEngine(url: string): Engine {
  const address = readAddress(url)
  return {
    name: 'postgresql',
    database: describeDatabase(address),
    startupPatience: STARTUP_PATIENCE,
    dialect,
    migrationsFolder: path.join(import.meta.dirname, '../../postgresql/migrations'),
    loadClient: async () => (await import('../generated/postgresql/client.ts')).PrismaClient,
    open: (options) => open(address, options),
    create: async () => {},
    beginReading: () => beginReading(address),
    beginWriting: () => beginWriting(address),
    revokeRights,
  }
}

/** Opens a database. */
async function open(
  address: Address,
  { patience = REQUEST_PATIENCE, modifiesPlants = false, onWarning }: OpenOptions,
): Promise<OpenedDatabase> {
  const database = describeDatabase(address)
  // PostgreSQL gives a lock up before this, and says so.
  const timeout = Math.max(patience, REQUEST_PATIENCE) + GRACE
  const pool = await openSharedPool(address, timeout + SILENCE)
  const { connection, close } = pool
  const prove = (writes: boolean) => proveGuarantees(connection, database, { modifiesPlants, writes })
  let schemaName: string
  try {
    // Another transaction may have the lock on the order of plants: the database is busy.
    const proveAtStart = () => prove(true).catch((error) => (isLocked(error) ? undefined : Promise.reject(error)))
    await retry(proveAtStart, { patience: STARTUP_PATIENCE, maxPause: STARTUP_PAUSE })
    schemaName = await readSchemaName(connection, SCHEMA_OF_PLANTS)
    const warning = onWarning && (await describeIntruders(connection, database))
    if (warning) onWarning(warning)
  } catch (error) {
    await close()
    throw asStorageError(error, database)
  }
  const giveUp = () => lateError(database)
  const gate = createWriteGate(timeout, giveUp)
  return {
    adapter: createAdapter(pool, {
      retry: (run, options) => retry(run, { patience, ...options }),
      read: (reading) => limitTime(reading, timeout, giveUp),
      write: gate.run,
      schemaName,
    }),
    probe: () => prove(gate.hasFailed()).catch((error) => Promise.reject(asStorageError(error, database))),
    close,
  }
}

/** Opens a connection that only reads, on a server that has all that was acknowledged. */
async function beginReading(address: Address): Promise<Transaction> {
  const { connection, close } = await openPool(address, { max: 1, query_timeout: QUERY_TIMEOUT })
  try {
    await connection.queryRaw(toQuery(`SELECT 1 WHERE ${ON_PRIMARY}`))
    return { connection, commit: async () => {}, close }
  } catch (error) {
    await close()
    throw asStorageError(error, describeDatabase(address))
  }
}

/** Begins a transaction that may take long, one process after the other. */
async function beginWriting(address: Address): Promise<Transaction> {
  const pool = await openPool(address, { max: 1 })
  let transaction: Transaction | undefined
  const close = async () => {
    await transaction?.close()
    await pool.close()
  }
  try {
    // A server would not start on what is created otherwise.
    await checkSettings(pool.connection, describeDatabase(address))
    transaction = await pool.begin()
    const { connection, commit } = transaction
    await connection.executeScript(MIGRATION_LOCK)
    return { connection: { ...connection, schemaName: await readSchemaName(connection) }, commit, close }
  } catch (error) {
    await close()
    throw asStorageError(error, describeDatabase(address))
  }
}

/** The first schema of the search path that has plants: where the first of all has none, only statements of SQL find them. */
const SCHEMA_OF_PLANTS = `
  SELECT nspname AS name FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE pg_class.oid = '"Plant"'::regclass`

async function readSchemaName(connection: Connection, sql = 'SELECT current_schema() AS name'): Promise<string> {
  const [row] = await select(connection, sql)
  return String(row?.['name'])
}

/** Names the database in an error of SQL, which only another program's schema can cause here. */
function asStorageError(error: unknown, database: string): StorageError {
  if (error instanceof StorageError) return error
  const { originalMessage } = ((error as Error).cause ?? {}) as { originalMessage?: string }
  return new StorageError(`${database} cannot be used: ${originalMessage ?? (error as Error).message}`, {
    cause: error,
  })
}
