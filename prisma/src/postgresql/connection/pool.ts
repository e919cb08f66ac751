import { Socket } from 'node:net'
import { userInfo } from 'node:os'
import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import type { ConnectionCounts } from '../../database.ts'
import type { Sql, SqlValue } from '../../shared/sql.ts'
import { findPassword, readTlsOptions } from './credentials.ts'
import { rejectUnsuitable } from './promises.ts'
import { describeDatabase, type ServerAddress } from './server-address.ts'

/** How long connecting, checking a new connection, or waiting for a free one may take, in milliseconds. */
const CONNECT_TIMEOUT = 2_000
/** After this time this process gives a statement up, in milliseconds: the network is silent. */
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

/** Connections to a database. */
export interface Pool {
  readonly connections: pg.Pool
  /** All of them, as Prisma's driver adapter. */
  readonly adapter: SqlDriverAdapter
  /** All of them, past the adapter, which takes a tenth of the CPU time of listing plants. */
  readonly sql: Sql
  counts(): ConnectionCounts
  /** Closes the connections, and after half a second those that still wait for a response. */
  close(): Promise<void>
}

/**
 * Creates the connections that requests share. Each statement is a transaction of its own on any of them, at the isolation
 * level READ COMMITTED: only that sees, after waiting for the lock on the order of plants, what was committed meanwhile.
 *
 * @throws {DatabaseError} if a certificate cannot be read
 */
export async function createPool(address: ServerAddress): Promise<Pool> {
  // A pooler in transaction mode rejects what would be kept in a session.
  const isDirect = !address.pgbouncer
  const config = {
    max: address.connectionLimit,
    idleTimeoutMillis: IDLE_TIMEOUT,
    query_timeout: QUERY_TIMEOUT,
    onConnect: (client: pg.ClientBase) => rejectUnsuitable(client, describeDatabase(address), CONNECT_TIMEOUT),
    ...(isDirect && SESSION),
  }
  return open(address, config, isDirect)
}

/** How to use one connection. */
export interface SingleConnectionOptions {
  /** How long a statement may take, in milliseconds. Default: without limit, for migrations. */
  timeout?: number
  /** Breaks the connection. */
  signal?: AbortSignal | undefined
}

/** Creates one connection. */
export async function createSingleConnection(
  address: ServerAddress,
  { timeout, signal }: SingleConnectionOptions = {},
): Promise<Pool> {
  signal?.throwIfAborted()
  const pool = await open(address, { max: 1, ...(timeout !== undefined && { query_timeout: timeout }) })
  signal?.addEventListener('abort', pool.disconnect)
  const close = () => pool.close().finally(() => signal?.removeEventListener('abort', pool.disconnect))
  return { ...pool, close }
}

/** Connections that can also be closed without asking the server. */
interface OpenPool extends Pool {
  disconnect(): void
}

async function open(address: ServerAddress, config: pg.PoolConfig, namesStatements = false): Promise<OpenPool> {
  const user = address.user ?? process.env['PGUSER'] ?? userName()
  const sockets = new Set<Socket>()
  const connections = new pg.Pool({
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
  const naming = namesStatements ? { statementNameGenerator: nameStatement } : {}
  // The adapter listens to the errors of idle connections, which the pool has removed. Those of others fail a statement.
  const adapter = await new PrismaPg(connections, naming).connect()
  const disconnect = () => {
    for (const socket of sockets) socket.destroy()
  }
  // Where one connection is silent, each of the others would take as long to show it.
  connections.on('release', (error: unknown) => {
    if (error instanceof Error && error.message === 'Query read timeout') disconnect()
  })
  return {
    connections,
    adapter,
    sql: createDirectSql(connections, namesStatements),
    disconnect,

    counts() {
      const { totalCount, idleCount, waitingCount, options } = connections
      return { used: totalCount - idleCount, idle: idleCount, waiting: waitingCount, max: options.max }
    },

    async close() {
      setTimeout(disconnect, CLOSE_TIMEOUT).unref()
      await connections.end()
      // A server that never confirms the end of a connection must not keep the process running.
      for (const socket of sockets) socket.unref()
    },
  }
}

function createDirectSql(connections: pg.Pool, namesStatements: boolean): Sql {
  const run = (sql: string, values: SqlValue[]) =>
    connections.query({ ...(namesStatements && { name: nameStatement({ sql }) }), text: sql, values, rowMode: 'array' })
  return {
    execute: async (sql, ...values) => (await run(sql, values)).rowCount ?? 0,
    query: async <Row>(sql: string, ...values: SqlValue[]) => (await run(sql, values)).rows as Row[],
  }
}

/** Returns the name of the operating system's user; empty where a container runs as a user without one. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return ''
  }
}

const names = new Map<string, string>()

/** Names a statement, so that PostgreSQL parses and plans it once a connection, at half the cost. */
function nameStatement({ sql }: { sql: string }): string {
  const name = names.get(sql) ?? `plant-store-${names.size}`
  names.set(sql, name)
  return name
}
