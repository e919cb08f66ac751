import path from 'node:path'
import type { ArgType, SqlQuery } from '@prisma/driver-adapter-utils'
import type { Adapter, Connection, Engine, OpenedDatabase, OpenOptions, Session, Transaction } from '../engine.ts'
import { isRead, StorageError, select, toQuery } from '../engine.ts'
import { createWriteGate, limitTime, REQUEST_PATIENCE, retry, STARTUP_PAUSE, type WriteGate } from '../patience.ts'
import { type Address, describeDatabase } from './address.ts'
import { lateError, mayHaveHappened } from './errors.ts'
import { checkSettings, describeIntruders, proveGuarantees, revokeRights } from './guarantees.ts'
import { openPool, openSharedPool, type Pool } from './pool.ts'
import { DURABLY, IN_UTC, ON_PRIMARY, SCHEMA, statements } from './statements.ts'

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

/** Lets a transaction create tables where the others are. */
const USE_SCHEMA = `
  SELECT set_config('search_path', quote_ident(nspname) || ', ' || current_setting('search_path'), true)
  FROM pg_namespace WHERE oid = ${SCHEMA}`

/** Creates the engine of a PostgreSQL database. */
export function createEngine(address: Address): Engine {
  return {
    name: 'postgresql',
    subject: describeDatabase(address),
    startupPatience: STARTUP_PATIENCE,
    statements,
    migrationsFolder: path.join(import.meta.dirname, '../../postgresql/migrations'),
    loadClient: async () => (await import('../generated/postgresql/client.ts')).PrismaClient,
    open: (options) => open(address, options),
    beginReading: () => beginReading(address),
    beginWriting: () => beginWriting(address),
    revokeRights,
  }
}

/** Opens a database. */
async function open(
  address: Address,
  { patience = REQUEST_PATIENCE, onWarning }: OpenOptions,
): Promise<OpenedDatabase> {
  const subject = describeDatabase(address)
  // PostgreSQL gives a lock up before this, and says so.
  const timeout = Math.max(patience, REQUEST_PATIENCE) + GRACE
  const pool = await openSharedPool(address, timeout + SILENCE)
  const { connection, close } = pool
  const prove = (writes: boolean) => proveGuarantees(connection, subject, writes)
  let schemaName: string
  try {
    // Another transaction may have the lock on the order of plants: the database is busy.
    const acceptLock = (error: unknown) => {
      if (!(error instanceof StorageError && error.fault === 'locked')) throw error
    }
    await retry(() => prove(true).catch(acceptLock), { patience: STARTUP_PATIENCE, maxPause: STARTUP_PAUSE })
    const [row] = await select(connection, `SELECT nspname AS name FROM pg_namespace WHERE oid = ${SCHEMA}`)
    schemaName = String(row?.['name'])
    const warning = onWarning && (await describeIntruders(connection, subject))
    if (warning) onWarning(warning)
  } catch (error) {
    await close()
    throw asStorageError(error, subject)
  }
  const giveUp = () => lateError(subject)
  const gate = createWriteGate(timeout, giveUp)
  return {
    adapter: createAdapter(pool, schemaName, {
      patience,
      read: (reading) => limitTime(reading, timeout, giveUp),
      write: gate.run,
    }),
    probe: () => prove(gate.hasFailed()).catch((error) => Promise.reject(asStorageError(error, subject))),
    close,
  }
}

/** Opens a connection that only reads, on a server that has all that was acknowledged. */
async function beginReading(address: Address): Promise<Session> {
  const { connection, close } = await openPool(address, { max: 1, query_timeout: QUERY_TIMEOUT })
  try {
    await connection.queryRaw(toQuery(`SELECT 1 WHERE ${ON_PRIMARY}`))
    return { connection, close }
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
    await connection.executeScript(USE_SCHEMA)
    return { connection, commit, close }
  } catch (error) {
    await close()
    throw asStorageError(error, describeDatabase(address))
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

/** What the statements of an adapter pass. */
interface Passage {
  /** How long to retry, in milliseconds. */
  readonly patience: number
  read<Result>(reading: Promise<Result>): Promise<Result>
  readonly write: WriteGate['run']
}

/** So many statements are kept with their condition. */
const MAX_TEXTS = 100
/** The end of a statement that Prisma Client writes. */
const OFFSET = /\bOFFSET (\$?\d+)\s*$/i
/** A statement that inserts what is not there yet may run twice. */
const INSERTS_MISSING = /\bON CONFLICT\b.*\bDO NOTHING\s*$/s

/**
 * Creates what Prisma Client runs on. A statement that has its condition is sent as it is. Any other read gets the condition
 * that it runs on the primary, and any other write is a transaction, whose commit fails where it would not be durable.
 */
function createAdapter(pool: Pool, schemaName: string, { patience, read, write }: Passage): Adapter {
  const { connection } = pool
  const onPrimary = new Map<string, string>()

  function toRead({ sql, args, argTypes }: SqlQuery): SqlQuery {
    if (sql.includes(ON_PRIMARY)) return { sql, args, argTypes }
    const text = onPrimary.get(sql) ?? withCondition(sql)
    // Prisma Client writes another statement for each length of a list.
    if (onPrimary.size < MAX_TEXTS) onPrimary.set(sql, text)
    return { sql: text, args: args.map(withOffset), argTypes: argTypes.map(asText) }
  }

  /** Runs a statement, again unless it may have happened, and happened twice then, or unless its commit was sent. */
  function writeDurably<Result>({ sql }: SqlQuery, run: (connection: Connection) => Promise<Result>): Promise<Result> {
    let isCommitting = false
    const inTransaction = async () => {
      const { connection, commit, close } = await pool.begin()
      try {
        const result = await run(connection)
        isCommitting = true
        await commit()
        return result
      } finally {
        await close()
      }
    }
    if (!sql.includes(DURABLY)) {
      return write(() => retry(inTransaction, { patience, mayRepeat: () => !isCommitting }))
    }
    const mayRepeat = (error: unknown) => INSERTS_MISSING.test(sql) || !mayHaveHappened(error)
    return write(() => retry(() => run(connection), { patience, mayRepeat }))
  }

  return {
    provider: 'postgres',
    queryRaw: (query) =>
      isRead(query)
        ? read(retry(() => connection.queryRaw(toRead(query)), { patience }))
        : writeDurably(query, ({ queryRaw }) => queryRaw(query)),
    executeRaw: (query) => writeDurably(query, ({ executeRaw }) => executeRaw(query)),
    schemaName,
  }
}

/**
 * Adds its condition to a statement that reads. An OFFSET belongs to the statement in parentheses, so that its order is the one
 * of the result; that of a subquery would not have to be. It is computed once, before the first row.
 */
function withCondition(sql: string): string {
  const [, offset = '0'] = OFFSET.exec(sql) ?? []
  return `(${sql.replace(OFFSET, '')}\n) OFFSET ${offset} + CASE WHEN ${ON_PRIMARY} AND ${IN_UTC} THEN 0::bigint END`
}

/** Writes a time among the parameters with its offset: it is read before the condition is computed. */
function withOffset(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value
}

/** Keeps the driver's adapter from writing a time without its offset. */
function asText(type: ArgType): ArgType {
  return type.scalarType === 'datetime' ? { ...type, scalarType: 'string' } : type
}
