import { Socket } from 'node:net'
import { userInfo } from 'node:os'
import { PrismaPg } from '@prisma/adapter-pg'
import type { ArgType, SqlDriverAdapter, SqlQuery } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import type { ConnectionCounts } from '../../database.ts'
import type { Connection, Sql, SqlValue } from '../../shared/sql.ts'
import { findPassword, readTlsOptions } from './credentials.ts'
import { isSilent } from './errors.ts'
import { DURABLY, ON_PRIMARY } from './promises.ts'
import type { ServerAddress } from './server-address.ts'

/** How long connecting, or waiting for a free connection, may take, in milliseconds. */
const CONNECT_TIMEOUT = 2_000
/** After this time a startup gives a statement up, in milliseconds: the network is silent. */
export const QUERY_TIMEOUT = 12_000
/** How long an idle connection is kept, in milliseconds. */
const IDLE_TIMEOUT = 60_000
/** After this time the operating system asks whether the other end of an idle connection is still there, in milliseconds. */
const KEEP_ALIVE_DELAY = 10_000
/** How long closing waits for statements in flight, in milliseconds. */
const CLOSE_TIMEOUT = 500
/**
 * What PostgreSQL keeps for each connection, times in milliseconds. A statement reads or writes a piece of a list or a batch,
 * which takes milliseconds. Without sorting, only the index on account and `seq` serves a list, also before there are
 * statistics; what no index can order is sorted all the same, at a cost for which PostgreSQL before 18 would compile the
 * statement.
 */
const SESSION = {
  statement_timeout: 10_000,
  lock_timeout: 2_000,
  idle_in_transaction_session_timeout: 10_000,
  options:
    '-c default_transaction_isolation=read\\ committed -c jit=off -c enable_sort=off -c enable_incremental_sort=off',
}

/** The connections to a database. */
export type Connections = Awaited<ReturnType<typeof open>>

/**
 * Opens the connections that requests share. Each statement is a transaction of its own on any of them, at the isolation
 * level READ COMMITTED: only that sees, after waiting for the lock on the order of plants, what was committed meanwhile.
 *
 * @param timeout after how long a statement is given up, in milliseconds
 * @throws {DatabaseError} if a certificate cannot be read
 */
export async function openConnections(address: ServerAddress, timeout: number): Promise<Connections> {
  // A pooler in transaction mode rejects what would be kept in a session.
  const isDirect = !address.pgbouncer
  const config = {
    max: address.connectionLimit,
    idleTimeoutMillis: IDLE_TIMEOUT,
    query_timeout: timeout,
    ...(isDirect && SESSION),
  }
  return open(address, config, isDirect)
}

/**
 * Opens one connection.
 *
 * @param options.timeout how long a statement may take, in milliseconds; default: without limit, for migrations
 * @param options.signal breaks the connection
 */
export async function openConnection(
  address: ServerAddress,
  { timeout, signal }: { timeout?: number; signal?: AbortSignal | undefined } = {},
): Promise<Connections> {
  signal?.throwIfAborted()
  const opened = await open(address, { max: 1, ...(timeout !== undefined && { query_timeout: timeout }) })
  signal?.addEventListener('abort', opened.disconnect)
  const close = () => opened.close().finally(() => signal?.removeEventListener('abort', opened.disconnect))
  return { ...opened, close }
}

async function open(address: ServerAddress, config: pg.PoolConfig, namesStatements = false) {
  const user = address.user ?? process.env['PGUSER'] ?? userName()
  const sockets = new Set<Socket>()
  const pool = new pg.Pool({
    host: address.host,
    port: address.port,
    database: address.database,
    user,
    // The driver rejects an empty password where the server asks for one, with its own words.
    password: async () => address.password ?? process.env['PGPASSWORD'] ?? (await findPassword(address, user)) ?? '',
    ssl: readTlsOptions(address),
    enableChannelBinding: address.channelBinding,
    application_name: address.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
    stream() {
      const socket = new Socket()
      sockets.add(socket)
      return socket.once('close', () => sockets.delete(socket))
    },
    ...config,
  })
  const naming = namesStatements ? { statementNameGenerator: createNames() as (query: SqlQuery) => string } : {}
  // The adapter listens to the errors of idle connections, which the pool has removed. Those of others fail a statement.
  const adapter: SqlDriverAdapter = await new PrismaPg(pool, naming).connect()
  const disconnect = () => {
    for (const socket of sockets) socket.destroy()
  }
  // A silent server is noticed on one connection: each of the others would need as long to notice it again.
  pool.on('release', (error: unknown) => {
    if (isSilent(error)) disconnect()
  })
  return {
    /** All of them, as the driver's own pool. */
    pool,
    /** All of them, as Prisma's driver adapter. */
    adapter,
    /**
     * All of them, past the adapter, which takes a tenth of the CPU time of listing plants. Reads are on the primary, and a
     * write has to say that it is durable.
     */
    sql: createDirectSql(pool, namesStatements),
    /** Breaks all connections, without asking the server. */
    disconnect,

    counts(): ConnectionCounts {
      const { totalCount, idleCount, waitingCount, options } = pool
      return { used: totalCount - idleCount, idle: idleCount, waiting: waitingCount, max: options.max }
    },

    /** Closes the connections, and after half a second those that still wait for a response. */
    async close(): Promise<void> {
      setTimeout(disconnect, CLOSE_TIMEOUT).unref()
      await pool.end()
      // A server that never confirms the end of a connection must not keep the process running.
      for (const socket of sockets) socket.unref()
    },
  }
}

/** Names of statements let PostgreSQL parse and plan each once a connection, at half the cost. */
function createDirectSql(pool: pg.Pool, namesStatements: boolean): Sql {
  const statements = new Map<string, { text: string; name: string | undefined }>()
  const run = (sql: string, values: SqlValue[], check: (sql: string) => string) => {
    const statement = statements.get(sql) ?? {
      text: check(sql),
      name: namesStatements ? `plant-store-${statements.size}` : undefined,
    }
    statements.set(sql, statement)
    return pool.query({ ...statement, values, rowMode: 'array' })
  }
  return {
    execute: async (sql, ...args) => (await run(sql, args, checkDurable)).rowCount ?? 0,
    query: async <Row>(sql: string, ...args: SqlValue[]) => (await run(sql, args, onPrimary)).rows as Row[],
  }
}

/** Returns a SELECT that fails on a standby. */
export function onPrimary(sql: string): string {
  return `SELECT * FROM (${sql}\n) AS "result" WHERE ${ON_PRIMARY}`
}

function checkDurable(sql: string): string {
  if (sql.includes(DURABLY)) return sql
  throw new Error('A write in SQL must have the condition DURABLY: add it, or use Prisma Client')
}

/** Returns the name of the operating system's user; empty where a container runs as a user without one. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return ''
  }
}

/** So many statements get a name: Prisma Client writes another one for each length of a list. */
const MAX_NAMES = 100

/** Creates what names the statements of Prisma Client. */
function createNames(): (query: SqlQuery) => string | undefined {
  const names = new Map<string, string>()
  return ({ sql, args }) => {
    const name = names.get(sql)
    // A script, which has no parameters, can only be sent without a name.
    if (name !== undefined || args.length === 0 || names.size === MAX_NAMES) return name
    names.set(sql, `prisma-${names.size}`)
    return names.get(sql)
  }
}

// Sent together: PostgreSQL applies changed settings only before it reads what follows.
const COMMIT = `SELECT WHERE ${ON_PRIMARY} AND ${DURABLY}; COMMIT`

// For the adapter, only texts of other types differ.
const TYPE: ArgType = { scalarType: 'string', arity: 'scalar' }
const toQuery = (sql: string, args: SqlValue[]): SqlQuery => ({ sql, args, argTypes: args.map(() => TYPE) })

/** Begins a transaction, which is a connection of its own. */
export async function beginTransaction({ adapter, disconnect }: Connections) {
  const transaction = await adapter.startTransaction('READ COMMITTED')
  const { provider, adapterName } = adapter
  const execute = (sql: string, ...args: SqlValue[]) => transaction.executeRaw(toQuery(sql, args))
  const executeScript = async (sql: string) => void (await execute(sql))
  const connection: Connection = {
    provider,
    adapterName,
    queryRaw: (query) => transaction.queryRaw(query),
    executeRaw: (query) => transaction.executeRaw(query),
    // Sent whole: the adapter splits a script at every semicolon.
    executeScript,
    sql: {
      execute,
      query: async <Row>(sql: string, ...args: SqlValue[]) =>
        (await transaction.queryRaw(toQuery(sql, args))).rows as Row[],
    },
  }
  let isOpen = true
  return {
    connection,

    /** Commits on the primary and durably, or fails. */
    async commit(): Promise<void> {
      await executeScript(COMMIT)
      isOpen = false
    },

    /** Ends it, and undoes what is not committed. The connection may be lost. */
    async end(): Promise<void> {
      if (isOpen) await executeScript('ROLLBACK').catch((error) => isSilent(error) && disconnect())
      await transaction.rollback()
    },
  }
}
