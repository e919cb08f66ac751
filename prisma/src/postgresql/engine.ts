import path from 'node:path'
import type { SqlQuery } from '@prisma/driver-adapter-utils'
import type { Connection, Engine, OpenedDatabase, OpenOptions, Session, Transaction } from '../engine.ts'
import { isRead, StorageError, select, toQuery } from '../engine.ts'
import { createWriteGate, limitTime, REQUEST_PATIENCE, retry, STARTUP_PAUSE } from '../patience.ts'
import { type Address, describeDatabase } from './address.ts'
import { lateError, mayHaveHappened } from './errors.ts'
import { checkServer, proveGuarantees, revokeRights } from './guarantees.ts'
import { openPool, openSharedPool, type Pool } from './pool.ts'
import { DURABLY, IN_UTC, ON_PRIMARY, SCHEMA, statements } from './statements.ts'

/** How long an operation waits for the database in all, beyond its patience for retries, in milliseconds. */
const GRACE = 300
/** After how much longer its connection is given up, in milliseconds. */
const SILENCE = 2_000
/** After this time a startup gives a statement up, in milliseconds: the network is silent. */
const QUERY_TIMEOUT = 12_000
/** The server may be starting too. */
const OPENING = { patience: 10_000, maxPause: STARTUP_PAUSE }

/** The lock of Prisma's own `migrate deploy`, so that both wait for each other. */
const MIGRATION_LOCK = 'SELECT pg_advisory_xact_lock(72707369)'

/** Lets a transaction create tables where the others are. */
const USE_SCHEMA = `
  SELECT set_config('search_path', quote_ident(nspname) || ', ' || current_setting('search_path'), true)
  FROM pg_namespace WHERE oid = ${SCHEMA}`

/** Creates the engine of a PostgreSQL database. */
export function createEngine(address: Address): Engine {
  return {
    name: 'postgresql',
    subject: describeDatabase(address),
    statements,
    startupPatience: OPENING.patience,
    migrationsFolder: path.join(import.meta.dirname, '../../postgresql/migrations'),
    loadClient: async () => (await import('../generated/postgresql/client.ts')).PrismaClient,
    open: (options) => open(address, options),
    beginReading: () => beginReading(address),
    beginWriting: () => beginWriting(address),
    revokeRights,
  }
}

/** Opens a database. */
async function open(address: Address, { patience = REQUEST_PATIENCE }: OpenOptions): Promise<OpenedDatabase> {
  const subject = describeDatabase(address)
  // PostgreSQL gives a lock up before this, and says so.
  const timeout = Math.max(patience, REQUEST_PATIENCE) + GRACE
  const pool = await openSharedPool(address, timeout + SILENCE)
  const prove = (writes: boolean) => proveGuarantees(pool.connection, subject, writes)
  const schemaName = await usePool(pool, subject, async ({ connection }) => {
    // Another transaction may have the lock on the order of plants: the database is busy.
    const acceptLock = (error: unknown) => {
      if (!(error instanceof StorageError && error.fault === 'locked')) throw error
    }
    await retry(() => prove(true).catch(acceptLock), OPENING)
    const [row] = await select(connection, `SELECT nspname AS name FROM pg_namespace WHERE oid = ${SCHEMA}`)
    return String(row?.['name'])
  })
  const giveUp = () => lateError(subject)
  const gate = createWriteGate(timeout, giveUp)
  const read = (query: SqlQuery) => retry(() => pool.connection.queryRaw(onPrimary(query)), { patience })
  const write = <Result>(query: SqlQuery, run: (connection: Connection) => Promise<Result>) =>
    gate.run(() => writeDurably(pool, run, { ...query, patience }))
  return {
    adapter: {
      provider: 'postgres',
      schemaName,
      queryRaw: (query) =>
        isRead(query) ? limitTime(read(query), timeout, giveUp) : write(query, ({ queryRaw }) => queryRaw(query)),
      executeRaw: (query) => write(query, ({ executeRaw }) => executeRaw(query)),
    },
    probe: () => prove(gate.hasFailed()).catch((error) => Promise.reject(asStorageError(error, subject))),
    close: pool.close,
  }
}

/** Opens a connection that only reads, on a server that has all that was confirmed. */
async function beginReading(address: Address): Promise<Session> {
  const pool = await openPool(address, { max: 1, query_timeout: QUERY_TIMEOUT })
  return usePool(pool, describeDatabase(address), async ({ connection, close }) => {
    await connection.queryRaw(toQuery(`SELECT 1 WHERE ${ON_PRIMARY}`))
    return { connection, [Symbol.asyncDispose]: close }
  })
}

/** Begins a transaction that may take long, one process after the other. */
async function beginWriting(address: Address): Promise<Transaction> {
  const subject = describeDatabase(address)
  const pool = await openPool(address, { max: 1 })
  return usePool(pool, subject, async ({ connection, close }) => {
    // A server would not start on what is created otherwise.
    await checkServer(connection, subject)
    const transaction = await pool.beginTransaction(`${MIGRATION_LOCK}; ${USE_SCHEMA}`)
    const end = async () => {
      await transaction[Symbol.asyncDispose]()
      await close()
    }
    return { ...transaction, [Symbol.asyncDispose]: end }
  })
}

/** Uses a pool, and closes it where that fails. */
async function usePool<Result>(pool: Pool, subject: string, run: (pool: Pool) => Promise<Result>): Promise<Result> {
  try {
    return await run(pool)
  } catch (error) {
    await pool.close()
    throw asStorageError(error, subject)
  }
}

/** Names the database in an error of SQL, which only another program's schema can cause here. */
function asStorageError(error: unknown, subject: string): StorageError {
  if (error instanceof StorageError) return error
  const { originalMessage } = ((error as Error).cause ?? {}) as { originalMessage?: string }
  return new StorageError(`${subject} cannot be used: ${originalMessage ?? (error as Error).message}`, {
    cause: error,
  })
}

/** The end of a statement that Prisma Client writes. */
const OFFSET = /\bOFFSET (\$?\d+)\s*$/i
/** A statement that inserts what is not there yet may run twice. */
const INSERTS_MISSING = /\bON CONFLICT\b.*\bDO NOTHING\s*$/s

/**
 * Runs a statement that writes: as it is if it has its condition, any other in a transaction, whose commit fails where
 * it would not be durable. It is retried unless it may have happened, and happened twice then, or unless its commit was
 * sent.
 */
async function writeDurably<Result>(
  pool: Pool,
  run: (connection: Connection) => Promise<Result>,
  { sql, patience }: { sql: string; patience: number },
): Promise<Result> {
  if (sql.includes(DURABLY)) {
    const mayRetry = (error: unknown) => INSERTS_MISSING.test(sql) || !mayHaveHappened(error)
    return retry(() => run(pool.connection), { patience, mayRetry })
  }
  let isCommitting = false
  const inTransaction = async () => {
    await using transaction = await pool.beginTransaction()
    const result = await run(transaction.connection)
    isCommitting = true
    await transaction.commit()
    return result
  }
  return retry(inTransaction, { patience, mayRetry: () => !isCommitting })
}

/**
 * Adds the condition that it runs on the primary to a statement that reads and lacks it. An OFFSET belongs to the
 * statement in parentheses, so that its order is the one of the result; that of a subquery would not have to be. It is
 * computed once, before the first row.
 */
function onPrimary(query: SqlQuery): SqlQuery {
  const { sql, args, argTypes } = query
  if (sql.includes(ON_PRIMARY)) return query
  const [, offset = '0'] = OFFSET.exec(sql) ?? []
  const condition = `${offset} + CASE WHEN ${ON_PRIMARY} AND ${IN_UTC} THEN 0::bigint END`
  return {
    sql: `(${sql.replace(OFFSET, '')}\n) OFFSET ${condition}`,
    // A time with its offset: it is read before the condition is computed, and the driver's adapter would remove it.
    args: args.map((value) => (value instanceof Date ? value.toISOString() : value)),
    argTypes: argTypes.map((type) => (type.scalarType === 'datetime' ? { ...type, scalarType: 'string' } : type)),
  }
}
