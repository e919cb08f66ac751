import { Socket } from 'node:net'
import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlDriverAdapter, SqlQuery, SqlQueryable } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { type Connection, type Transaction, toQuery } from '../engine.ts'
import { type Address, describeDatabase } from './address.ts'
import { describeError, translate } from './errors.ts'
import { DURABLY, IN_UTC, ON_PRIMARY } from './statements.ts'

/** How long connecting, or waiting for a free connection, may take, in milliseconds. */
const CONNECT_TIMEOUT = 2_000
/** How long an idle connection is kept, in milliseconds. */
const IDLE_TIMEOUT = 60_000
/**
 * After this time the operating system asks whether the other end of an idle connection is still there, in
 * milliseconds.
 */
const KEEP_ALIVE_DELAY = 10_000
/** How long closing waits for statements in flight, in milliseconds. */
const CLOSE_TIMEOUT = 500
/**
 * What PostgreSQL keeps for each connection, times in milliseconds. A statement reads or writes a piece of a list or a
 * batch, which takes milliseconds. Without sorting, only the index on account and `seq` serves a list, also before
 * there are statistics; what no index can order is sorted all the same, at a cost for which PostgreSQL before 18 would
 * compile the statement. Without `row_security`, a statement from which row level security would hide rows fails.
 */
const SESSION = { statement_timeout: 10_000, lock_timeout: 2_000, idle_in_transaction_session_timeout: 10_000 }
const SESSION_OPTIONS =
  '-c default_transaction_isolation=read\\ committed -c row_security=off -c jit=off -c enable_sort=off -c enable_incremental_sort=off'
/** So many statements get a name: Prisma Client writes another one for each length of a list. */
const MAX_NAMES = 100

/** How long no more connections are opened than a server has accepted, in milliseconds. */
const FULL_TIME = 1_000

/** The connections to a database. Errors are translated. */
export interface Pool {
  /** The driver's own pool, and Prisma's adapter of it, for Prisma's schema engine. */
  readonly pool: pg.Pool
  readonly adapter: SqlDriverAdapter
  /** All of them, as one. */
  readonly connection: Connection
  /** Begins a transaction, on one of them, with a script. */
  beginTransaction(script?: string): Promise<Transaction>
  /** Closes the connections, and after half a second those that still wait for a response. */
  close(): Promise<void>
}

/**
 * Opens the connections that requests share. Each statement is a transaction of its own on any of them, at the
 * isolation level READ COMMITTED: only that sees, after waiting for the lock on the order of plants, what was committed
 * meanwhile.
 *
 * @param timeout after how long a statement is given up, in milliseconds
 */
export function openSharedPool(address: Address, timeout: number): Promise<Pool> {
  const { isPooled, connectionLimit, config } = address
  const options = [SESSION_OPTIONS, config.options ?? ''].join(' ').trim()
  return openPool(address, {
    max: connectionLimit,
    idleTimeoutMillis: IDLE_TIMEOUT,
    query_timeout: timeout,
    // A pooler in transaction mode rejects what would be kept in a session.
    ...(!isPooled && { ...SESSION, options }),
  })
}

/** Opens a pool of connections. */
export async function openPool(address: Address, settings: pg.PoolConfig): Promise<Pool> {
  const subject = describeDatabase(address)
  const sockets = new Set<Socket>()
  const pool = new pg.Pool({
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
    stream() {
      const socket = new Socket()
      sockets.add(socket)
      return socket.once('close', () => sockets.delete(socket))
    },
    ...address.config,
    ...settings,
  })
  const { max } = pool.options
  let connected = 0
  pool.on('connect', () => connected++).on('remove', () => connected--)
  /** Translates an error. Where the server accepts no more connections, requests wait for those that there are. */
  const fail: Fail = (error, sql) => {
    if (describeError(error).startsWith('53300 ') && connected > 0) {
      pool.options.max = connected
      setTimeout(() => {
        pool.options.max = max
      }, FULL_TIME).unref()
    }
    throw translate(error, subject, sql)
  }
  const naming = address.isPooled ? {} : { statementNameGenerator: createNames() as (query: SqlQuery) => string }
  // The adapter listens to the errors of idle connections, which the pool has removed. Those of others fail a
  // statement.
  const adapter: SqlDriverAdapter = await new PrismaPg(pool, naming).connect()
  const disconnect = () => {
    for (const socket of sockets) socket.destroy()
  }
  // A silent server is noticed on one connection: each of the others would need as long to notice it again.
  pool.on('release', (error: unknown) => {
    if (error && /Query read timeout/.test(describeError(error))) disconnect()
  })
  return {
    pool,
    adapter,
    connection: translating(adapter, fail),

    async beginTransaction(script = '') {
      const started = await adapter.startTransaction().catch((error) => fail(error))
      const connection = translating(started, fail)
      let isOpen = true
      const transaction: Transaction = {
        connection,
        async commit() {
          await connection.executeScript(COMMIT)
          isOpen = false
        },
        async [Symbol.asyncDispose]() {
          const failure = isOpen && (await connection.executeScript('ROLLBACK').catch((error: Error) => error))
          // What may still be in a transaction is not used again.
          if (failure) clientOf(started).release(failure)
          else await started.rollback()
        },
      }
      try {
        await connection.executeScript(`${BEGIN}; ${script}`)
        return transaction
      } catch (error) {
        await transaction[Symbol.asyncDispose]()
        throw error
      }
    },

    async close() {
      setTimeout(disconnect, CLOSE_TIMEOUT).unref()
      await pool.end()
      // A server that never confirms the end of a connection must not keep the process running.
      for (const socket of sockets) socket.unref()
    },
  }
}

const BEGIN = `SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT ${IN_UTC}`

// Sent together: PostgreSQL applies changed settings only before it reads what follows.
const COMMIT = `SELECT WHERE ${ON_PRIMARY} AND ${DURABLY}; COMMIT`

/** Returns the driver's client of a transaction, which alone can be removed from the pool. */
function clientOf(transaction: object): pg.PoolClient {
  return (transaction as { client: pg.PoolClient }).client
}

/** Throws an error, translated, of a statement. */
type Fail = (error: unknown, sql?: string) => never

/** Translates the errors of an adapter. */
function translating(queryable: SqlQueryable, fail: Fail): Connection {
  const translated = <Result>(running: Promise<Result>, sql: string) => running.catch((error) => fail(error, sql))
  return {
    queryRaw: (query) => translated(queryable.queryRaw(query), query.sql),
    executeRaw: (query) => translated(queryable.executeRaw(query), query.sql),
    // Sent whole: the adapter splits a script at every semicolon.
    executeScript: async (script) => void (await translated(queryable.executeRaw(toQuery(script)), script)),
  }
}

/** Creates what names statements, so that PostgreSQL parses and plans each once a connection, at half the cost. */
function createNames(): (query: SqlQuery) => string | undefined {
  const names = new Map<string, string>()
  return ({ sql, args }) => {
    const name = names.get(sql)
    // A script, which has no parameters, can only be sent without a name.
    if (name !== undefined || args.length === 0 || names.size === MAX_NAMES) return name
    names.set(sql, `plant-store-${names.size}`)
    return names.get(sql)
  }
}
