import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { DatabaseError } from '../../database-error.ts'
import type { ServerAddress } from './server-address.ts'

/** How long connecting, or waiting for a free connection, may take, in milliseconds. */
const CONNECT_TIMEOUT = 2_000
/** How long a connection is kept that nobody uses, in milliseconds. */
const IDLE_TIMEOUT = 60_000
/**
 * After this time PostgreSQL ends a statement, in milliseconds. A statement reads or writes a piece of a list or a batch,
 * which takes milliseconds.
 */
const STATEMENT_TIMEOUT = 10_000
/** After this time this process gives a statement up, in milliseconds: the network is silent. */
const QUERY_TIMEOUT = 12_000
/** How long a statement waits for another transaction, in milliseconds. */
const LOCK_TIMEOUT = 2_000
/** What PostgreSQL keeps for each connection. */
const SESSION = {
  statement_timeout: STATEMENT_TIMEOUT,
  lock_timeout: LOCK_TIMEOUT,
  idle_in_transaction_session_timeout: STATEMENT_TIMEOUT,
  options: '-c default_transaction_isolation=read\\ committed',
}
/** SQLSTATE read_only_sql_transaction. */
const READ_ONLY = '25006'

/** Connections to a database. */
export interface Pool {
  readonly connections: pg.Pool
  /** All of them, as Prisma's driver adapter. */
  readonly adapter: SqlDriverAdapter
  /** Closes the connections once they are idle. */
  close(): Promise<void>
}

/**
 * Creates the connections that requests share. Each statement is a transaction of its own on any of them, at the isolation
 * level READ COMMITTED: only that sees, after waiting for the lock on the order of plants, what was committed meanwhile.
 *
 * @throws {DatabaseError} if a certificate cannot be read
 */
export async function createPool(address: ServerAddress): Promise<Pool> {
  const config = {
    max: address.connectionLimit,
    idleTimeoutMillis: IDLE_TIMEOUT,
    query_timeout: QUERY_TIMEOUT,
    onConnect: rejectStandby,
  }
  // A pooler in transaction mode rejects what would be kept in a session.
  return address.pgbouncer ? open(address, config) : open(address, { ...config, ...SESSION }, createStatementNames())
}

/** Creates one connection without time limits, for migrations. A signal breaks it. */
export async function createSingleConnection(address: ServerAddress, signal?: AbortSignal): Promise<Pool> {
  signal?.throwIfAborted()
  return open(address, {
    max: 1,
    onConnect: (client) => {
      signal?.addEventListener('abort', () => void (client as pg.Client).end().catch(() => {}))
    },
  })
}

async function open(address: ServerAddress, config: pg.PoolConfig, nameStatement?: NameStatement): Promise<Pool> {
  const { host, port, database, user, password, applicationName } = address
  const connections = new pg.Pool({
    host,
    port,
    database,
    // Without a value, the driver looks at PGUSER, PGPASSWORD and ~/.pgpass.
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ssl: readTlsOptions(address),
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    keepAlive: true,
    ...config,
  })
  // The adapter listens to the errors of idle connections, which the pool has removed. Those of others fail a statement.
  const adapter = await new PrismaPg(connections, {
    disposeExternalPool: true,
    ...(nameStatement && { statementNameGenerator: nameStatement }),
  }).connect()
  return { connections, adapter, close: () => adapter.dispose() }
}

/**
 * Rejects a connection to a server that only follows the primary: it would answer with old data. During a failover the
 * same address leads to one server after the other.
 */
async function rejectStandby(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<[boolean]>({ text: 'SELECT pg_is_in_recovery()', rowMode: 'array' })
  if (rows[0]?.[0] !== true) return
  throw Object.assign(new Error('The server is a standby'), { code: READ_ONLY, severity: 'FATAL' })
}

type NameStatement = (statement: { sql: string }) => string

/** Names each statement, so that PostgreSQL parses and plans it once a connection, at half the cost. */
function createStatementNames(): NameStatement {
  const names = new Map<string, string>()
  return ({ sql }) => {
    const existing = names.get(sql)
    if (existing !== undefined) return existing
    const name = `plant-store-${names.size}`
    names.set(sql, name)
    return name
  }
}

function readTlsOptions(address: ServerAddress): ConnectionOptions | false {
  const { sslMode, host, sslRootCertificate, sslCertificate, sslKey } = address
  if (sslMode === 'disable') return false
  return {
    // The name that the server's certificate must have.
    host,
    rejectUnauthorized: sslMode !== 'require',
    ...(sslMode === 'verify-ca' && { checkServerIdentity: () => undefined }),
    ...(sslRootCertificate !== undefined && { ca: readPem(sslRootCertificate, 'sslrootcert') }),
    ...(sslCertificate !== undefined && { cert: readPem(sslCertificate, 'sslcert') }),
    ...(sslKey !== undefined && { key: readPem(sslKey, 'sslkey') }),
  }
}

function readPem(file: string, parameter: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new DatabaseError(`DATABASE_URL names the file ${file} as ${parameter}, which cannot be read (${code})`)
  }
}
