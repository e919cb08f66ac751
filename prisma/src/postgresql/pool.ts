import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import pg from 'pg'
import type { Session, StorageError, Transaction } from '../engine.ts'
import { TIMES } from '../patience.ts'
import type { Address } from './address.ts'
import { describeError, lateError, translate } from './errors.ts'
import { DURABLY, IN_UTC, ON_PRIMARY } from './statements.ts'

/**
 * Options of each connection that requests share. Without sorting, only the index on account and `seq` serves a list,
 * also before there are statistics; what no index can order is sorted all the same, at a cost for which PostgreSQL
 * before 18 would compile the statement. Without `row_security`, a statement from which row level security would hide
 * rows fails.
 */
const OPTIONS =
  '-c default_transaction_isolation=read\\ committed -c row_security=off -c jit=off -c enable_sort=off -c enable_incremental_sort=off'
/** What waits for a lock fails before this process gives it up, with an error that says so. */
const TIME_LIMITS = `-c statement_timeout=${TIMES.task} -c lock_timeout=${TIMES.request} -c idle_in_transaction_session_timeout=${TIMES.task}`

/** A statement with its values, as the driver takes it. */
export interface Query {
  /** PostgreSQL parses and plans a statement with a name once a connection, at half the cost. Default: each time. */
  readonly name?: string | undefined
  readonly text: string
  readonly values?: unknown[]
  /** How values are read from a result. Default: as the driver does. */
  readonly types?: pg.CustomTypesConfig | undefined
}

/** Runs a statement, and returns its rows as lists of values. Errors are translated. */
export type RunQuery = (query: Query) => Promise<pg.QueryArrayResult>

/**
 * The connections to a database. Each is being opened, idle, or runs a statement or transaction; the
 * driver closes one on which a statement outside a transaction has failed. Together they are, besides:
 *
 * - failing, for `TIMES.pause` once one could not be opened: whatever needs another one fails with the same error. Then
 *   one is tried, and whatever needs one waits for that;
 * - full, while all that are allowed wait for a response: what needs one waits as long as a request does, and then fails
 *   with an error that names the pool, as does what gets no response in time;
 * - silent, once a statement has had no response for so long that its connection is given up: all are closed, since each
 *   of the others would need as long to notice it;
 * - closing, once it is disposed of: statements in flight have a moment to end.
 */
export interface Pool extends Session {
  /** The driver's own pool. */
  readonly driver: pg.Pool
  /** Runs a statement on any of them. */
  readonly run: RunQuery
  /** Begins a transaction, on one of them, with a script. */
  beginTransaction(script?: string): Promise<PoolTransaction>
  /** Creates the error of a statement that is given up. */
  lateError(): StorageError
}

/** A transaction on a connection of a pool. */
export interface PoolTransaction extends Transaction {
  readonly run: RunQuery
}

/**
 * Opens the connections that requests share. Each statement is a transaction of its own on any of them, at the
 * isolation level READ COMMITTED: only that sees, after waiting for the lock on the order of plants, what was committed
 * meanwhile.
 *
 * @param timeout after how long a statement is given up, in milliseconds
 */
export function openSharedPool(address: Address, timeout: number): Pool {
  const { isPooled, connectionLimit, config } = address
  return openPool(address, {
    max: connectionLimit,
    idleTimeoutMillis: TIMES.idle,
    query_timeout: timeout,
    // A pooler in transaction mode rejects what would be kept in a session.
    ...(!isPooled && { options: `${OPTIONS} ${TIME_LIMITS} ${config.options ?? ''}`.trim() }),
  })
}

/** Creates a class of connections that open one after the other, and together are failing or not. */
function createPacedClient(): typeof pg.Client {
  let last: Promise<unknown> = Promise.resolve()
  let failure: Error | undefined
  return class extends pg.Client {
    override connect(callback?: unknown): Promise<this> {
      // The driver's pool gives it, and listens for errors only from then on: called later, such as after a promise, an
      // error that came with the last message of the opening would be an uncaught exception.
      const settle = callback as (error?: Error) => void
      const connect = () =>
        new Promise<void>((resolve) => {
          const end = (error?: Error) => resolve(settle(error))
          if (failure) return end(failure)
          super.connect((error?: Error) => {
            failure = error
            if (error) {
              setTimeout(() => (failure = undefined), TIMES.pause).unref()
              // The server still waits for the password of one that has none.
              void this.end()
            }
            end(error)
          })
        })
      last = last.then(connect)
      return last.then(() => this)
    }
  }
}

/** Opens a pool of connections. */
export function openPool(address: Address, settings: pg.PoolConfig): Pool {
  const sockets = new Set<Socket>()
  const pool = new pg.Pool({
    Client: createPacedClient(),
    // For opening a connection, or waiting for a free one.
    connectionTimeoutMillis: TIMES.request,
    keepAlive: true,
    keepAliveInitialDelayMillis: TIMES.keepAlive,
    stream() {
      const socket = new Socket()
      sockets.add(socket)
      return socket.once('close', () => sockets.delete(socket))
    },
    ...address.config,
    ...settings,
  })
  // A lost connection fails the statement that runs on it; an idle one is removed.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('error', () => {})
  const giveUp = (isTemporary?: boolean) => {
    const { length } = [...sockets].filter(({ readyState }) => readyState === 'open')
    const isFull = length === pool.options.max && pool.idleCount === 0
    return lateError(address.subject, isFull ? length : undefined, isTemporary)
  }
  const fail = (error: unknown): never => {
    throw /timeout exceeded/.test(describeError(error)) ? giveUp(true) : translate(error, address.subject)
  }
  const runOn = (queryable: pg.Pool | pg.PoolClient): RunQuery => {
    const send = queryable.query.bind(queryable) as (config: pg.QueryArrayConfig) => Promise<pg.QueryArrayResult>
    return (query) => send({ ...query, rowMode: 'array' }).catch(fail)
  }
  const disconnect = () => {
    for (const socket of sockets) socket.destroy()
  }
  pool.on('release', (error: unknown) => {
    if (error && /Query read timeout/.test(describeError(error))) disconnect()
  })
  const run = runOn(pool)
  return {
    driver: pool,
    run,
    query: toQuery(run),
    lateError: () => giveUp(),

    async beginTransaction(script = '') {
      const client = await pool.connect().catch(fail)
      return beginOn(client, runOn(client), script)
    },

    async [Symbol.asyncDispose]() {
      setTimeout(disconnect, TIMES.close).unref()
      await pool.end()
      // A server that never confirms the end of a connection must not keep the process running.
      for (const socket of sockets) socket.unref()
    },
  }
}

/** Begins a transaction on a connection, which goes back to its pool at the end. */
async function beginOn(client: pg.PoolClient, run: RunQuery, script: string): Promise<PoolTransaction> {
  const query = toQuery(run)
  let isOpen = true
  const commit = async () => {
    assert(isOpen, 'a transaction is committed once')
    await run({ text: COMMIT })
    isOpen = false
  }
  const end = async () => {
    const outcome = isOpen && (await client.query('ROLLBACK').catch((error: Error) => error))
    // What may still be in a transaction is not used again.
    client.release(outcome instanceof Error && outcome)
  }
  try {
    await run({ text: `${BEGIN}; ${script}` })
    return { run, query, executeScript: query, commit, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

/** The isolation level is that of {@link openSharedPool}. */
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED; SELECT ${IN_UTC}`

// Sent together: PostgreSQL applies changed settings only before it reads what follows.
const COMMIT = `SELECT WHERE ${ON_PRIMARY} AND ${DURABLY}; COMMIT`

/** Returns the method of a session on what runs statements. Of several, which have no values, it returns no rows. */
function toQuery(run: RunQuery): Session['query'] {
  return async <Row>(text: string, ...values: unknown[]) => (await run({ text, values })).rows as Row[]
}
