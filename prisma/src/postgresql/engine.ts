import path from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import type { Engine, OpenedDatabase, ReadStatement, WriteStatement } from '../engine.ts'
import { StorageError } from '../engine.ts'
import { type Attempts, attemptLimit, createRunner, type Runner, retry, TIMES } from '../patience.ts'
import { type ClientAdapter, createPrisma, toStatement } from '../prisma-client.ts'
import type { Address } from './address.ts'
import { checkGuarantees } from './guarantees.ts'
import { beginMigration } from './migration.ts'
import { openPool, openSharedPool, type Pool, type Query } from './pool.ts'
import { ON_PRIMARY, SCHEMA, statements } from './statements.ts'

/** Those of extensions are left out. A standby may not have all of them yet. */
const SELECT_TABLES = `
  SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = ${SCHEMA} AND NOT EXISTS (
    SELECT FROM pg_depend WHERE deptype = 'e' AND classid = 'pg_class'::regclass AND objid = pg_class.oid)
  AND ${ON_PRIMARY}`

/** Creates the engine of a PostgreSQL database. */
export function createEngine(address: Address): Engine {
  return {
    name: 'postgresql',
    subject: address.subject,
    statements,
    selectTables: SELECT_TABLES,
    timeType: 'TIMESTAMPTZ',
    migrationsFolder: path.join(import.meta.dirname, '../../postgresql/migrations'),
    open: (patience) => open(address, patience),
    beginReading: async () => openPool(address, { max: 1, query_timeout: TIMES.task + TIMES.silence }),
    beginWriting: (onStep) => beginMigration(address, onStep),
  }
}

/**
 * The statements of requests, with the names under which PostgreSQL keeps them prepared. Their texts have a condition
 * that fails where PostgreSQL would break a promise. Any other runs in a transaction that fails then, which takes two
 * more round trips.
 */
const NAMES = new Map<ReadStatement | WriteStatement, string>(
  Object.entries(statements).map(([name, statement]) => [statement, name]),
)

/** Opens a database. */
async function open(address: Address, patience: number): Promise<OpenedDatabase> {
  const { PrismaClient } = await import('../generated/postgresql/client.ts')
  const limit = attemptLimit(patience)
  await using opened = new AsyncDisposableStack()
  const pool = opened.use(openSharedPool(address, limit + TIMES.silence))
  const check = (writes: boolean) => checkGuarantees(pool, address.subject, writes)
  // Another transaction may have the lock on the order of plants: the database is busy.
  const acceptLock = (error: unknown) => {
    if (!(error instanceof StorageError && error.fault === 'locked')) throw error
  }
  await retry(() => check(true).catch(acceptLock), TIMES.task)
  const [[schema] = ['']] = await pool.query<[string]>(`SELECT nspname FROM pg_namespace WHERE oid = ${SCHEMA}`)
  const toQuery = (statement: Statement, values: unknown[]): Query => {
    const name = address.isPooled ? undefined : NAMES.get(statement)
    return { name, text: statement.sql, values, types: statement.types }
  }
  const attempts: Attempts<unknown, Rows> = {
    read: (statement, values) => runRead(pool, statement, toQuery(statement, values)),
    write: (statement, values) => runWrite(pool, statement, toQuery(statement, values)),
  }
  const runner = createRunner(attempts, patience, pool.lateError)
  const adapter = await createClientAdapter(runner.run, schema)
  const running = opened.move()
  return {
    ...runner,
    prisma: createPrisma(PrismaClient, adapter),
    probe: () => runner.probe((failure) => check(failure !== undefined)),
    close: () => running.disposeAsync(),
  }
}

/** Begins a transaction in which nothing can be written, on the primary. */
const READ_ONLY = `SET TRANSACTION READ ONLY; SELECT WHERE ${ON_PRIMARY}`
/** PostgreSQL's code of a write where only reads are possible. */
const WRITES = '25006'

/** Runs a statement that reads: as it is if it has its condition, any other in a transaction that only reads. */
async function runRead(pool: Pool, statement: ReadStatement, query: Query): Promise<Rows> {
  if (NAMES.has(statement)) return pool.run(query)
  await using transaction = await pool.beginTransaction(READ_ONLY)
  return await transaction.run(query).catch((error) => {
    // The transaction is what rejects it, not the server: a mistake in the statement.
    throw error.cause?.code === WRITES ? error.cause : error
  })
}

/**
 * Runs a statement that writes: as it is if it has its condition and may run twice, any other in a transaction, whose
 * commit fails where it would not be durable. A commit that failed may have happened.
 */
async function runWrite(pool: Pool, statement: WriteStatement, query: Query): Promise<Rows> {
  if (statement.mayRunTwice && NAMES.has(statement)) return pool.run(query)
  await using transaction = await pool.beginTransaction()
  const result = await transaction.run(query)
  await transaction.commit().catch((error) => {
    if (statement.mayRunTwice || !(error instanceof StorageError)) throw error
    throw new StorageError(error.message, { ...error, isTemporary: false, cause: error })
  })
  return result
}

/** What a statement returns. */
type Rows = pg.QueryArrayResult
/** A statement, with how its values are read where it is one of Prisma Client. */
type Statement = (ReadStatement | WriteStatement) & Pick<Query, 'types'>

/**
 * Creates the adapter of Prisma Client: Prisma's own, which reads and writes values as the Client expects them, on a
 * pool that never connects: it calls nothing of it but this `query`.
 *
 * @param schema where the Client looks for the tables
 */
function createClientAdapter(run: Runner<unknown, Rows>['run'], schema: string): Promise<ClientAdapter> {
  const query = ({ text, values = [], types }: Query) => run(Object.assign(toStatement(text), { types }), values)
  return new PrismaPg(Object.assign(new pg.Pool(), { query }), { schema }).connect()
}
