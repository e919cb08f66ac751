import { randomUUID } from 'node:crypto'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { sqlState, toDatabaseError } from '../src/postgresql/connection/errors.ts'
import { createSingleConnection } from '../src/postgresql/connection/pool.ts'
import { describeDatabase, readServerAddress, type ServerAddress } from '../src/postgresql/connection/server-address.ts'
import { createIfMissing, MAINTENANCE_DATABASE } from '../src/postgresql/migrate-database.ts'
import { select } from '../src/shared/sql.ts'
import { type EngineDatabase, PrismaError } from './engine.ts'
import { type EngineConnection, type EngineTransaction, openEngineConnection } from './postgresql-connection.ts'

/** Prisma's codes for what PostgreSQL or the network reports. */
const CODES: Record<string, string> = {
  '3D000': 'P1003',
  '28P01': 'P1000',
  '28000': 'P1000',
  NETWORK: 'P1001',
  CLOSED_PORT: 'P1001',
  UNKNOWN_HOST: 'P1001',
}

/** Connects to a database once. */
export function canConnect(url: string): Promise<void> {
  const address = readServerAddress(url)
  return explaining(address, execute(address, 'SELECT 1'))
}

/** Creates a database unless it exists. */
export function createDatabase(url: string): Promise<void> {
  const address = readServerAddress(url)
  return explaining(address, createIfMissing(address))
}

/** Runs a statement on a connection of its own. */
async function execute(address: ServerAddress, sql: string): Promise<void> {
  const { adapter, close } = await createSingleConnection(address)
  await adapter.executeRaw({ sql, args: [], argTypes: [] }).finally(close)
}

async function explaining(address: ServerAddress, operation: Promise<void>): Promise<void> {
  try {
    await operation
  } catch (error) {
    const { message } = toDatabaseError(error, describeDatabase(address))
    throw new PrismaError(CODES[sqlState(error)] ?? 'P1010', message, { cause: error })
  }
}

// The engine's own reset keeps functions, on which the migrations would then fail, and dropping the schema would lose who
// may use it. What belongs to an extension stays.
const DROP_STATEMENTS = `
  SELECT 'DROP ' || kind || ' IF EXISTS ' || name || ' CASCADE' AS statement
  FROM (
    SELECT oid, 1 AS position, oid::regclass::text AS name,
      CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind
    FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
    UNION ALL
    SELECT oid, 2, oid::regclass::text, 'SEQUENCE'
    FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'S'
    UNION ALL
    SELECT oid, 3, oid::regprocedure::text, 'ROUTINE'
    FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
    UNION ALL
    SELECT oid, 4, oid::regtype::text, 'TYPE'
    FROM pg_type WHERE typnamespace = current_schema()::regnamespace AND typtype IN ('c', 'd', 'e', 'r')
      AND (typrelid = 0 OR EXISTS (SELECT FROM pg_class WHERE pg_class.oid = typrelid AND relkind = 'c'))
  ) AS objects
  WHERE NOT EXISTS (SELECT FROM pg_depend WHERE objid = objects.oid AND deptype = 'e')
  ORDER BY position`

/** Opens a database for the engine. `migrate diff` compares schema files, which needs any database. */
export async function openEngineDatabase(url: string, method: string): Promise<EngineDatabase> {
  const wanted = readServerAddress(url)
  const address = method === 'diff' ? await findAny(wanted) : wanted
  return new PostgresqlEngineDatabase(address, await openEngineConnection(address))
}

/** Returns the database if it exists, otherwise the one that every server has. */
async function findAny(address: ServerAddress): Promise<ServerAddress> {
  try {
    await execute(address, 'SELECT 1')
    return address
  } catch (error) {
    if (sqlState(error) !== '3D000') throw error
    return { ...address, database: MAINTENANCE_DATABASE }
  }
}

class PostgresqlEngineDatabase implements EngineDatabase {
  readonly provider = 'postgres'
  readonly adapterName = '@prisma/adapter-pg'
  readonly #address: ServerAddress
  readonly #connection: EngineConnection
  #transaction: EngineTransaction | undefined
  #shadowFailure: unknown

  constructor(address: ServerAddress, connection: EngineConnection) {
    this.#address = address
    this.#connection = connection
  }

  /** Runs a method in a transaction of its own. The command line may ask its user something between two methods. */
  async run<Result>(operation: () => Promise<Result>): Promise<Result> {
    const transaction = await this.#connection.begin()
    this.#transaction = transaction
    try {
      return await operation()
    } catch (error) {
      // The engine's own error does not say why there is no shadow database.
      throw this.#shadowFailure ?? error
    } finally {
      // Also after a failure: the engine has then noted which migration failed, for `migrate resolve`.
      await transaction.commit()
    }
  }

  async connect(): Promise<SqlDriverAdapter> {
    const current = () => {
      if (!this.#transaction) throw new Error('The schema engine has not begun yet')
      return this.#transaction.adapter
    }
    const { provider, adapterName } = this
    return {
      provider,
      adapterName,
      queryRaw: (query) => current().queryRaw(query),
      executeRaw: (query) => current().executeRaw(query),
      executeScript: (script) => current().executeScript(script),
      startTransaction: () => current().startTransaction(),
      dispose: () => Promise.resolve(),
    }
  }

  connectToShadowDb(): Promise<SqlDriverAdapter> {
    return createShadowDatabase(this.#address).catch((error: unknown) => {
      this.#shadowFailure = error
      throw error
    })
  }

  async reset(): Promise<void> {
    const connection = await this.connect()
    const statements = await select(connection, DROP_STATEMENTS)
    await connection.executeScript(statements.map(({ statement }) => statement).join('; '))
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}

/** SQLSTATE insufficient_privilege. */
const NOT_ALLOWED = '42501'

/**
 * Creates an empty database, in which the engine applies the migrations to see what they lead to, and connects to it.
 * Disposing of the connection drops the database.
 *
 * @param address a database on the same server, from which it can be created
 */
async function createShadowDatabase(address: ServerAddress): Promise<SqlDriverAdapter> {
  // As Prisma's own engine names it.
  const name = `prisma_migrate_shadow_db_${randomUUID()}`
  try {
    await execute(address, `CREATE DATABASE "${name}" TEMPLATE template0 ENCODING 'UTF8'`)
  } catch (error) {
    throw new PrismaError('P3014', explainShadow(error, address), { cause: error })
  }
  const { begin, close } = await openEngineConnection({ ...address, database: name })
  const drop = () => execute(address, `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`)
  try {
    const { adapter } = await begin()
    // Closing would wait for the transaction, dropping ends it.
    return { ...adapter, dispose: () => drop().finally(() => void close()) }
  } catch (error) {
    await drop()
    throw error
  }
}

function explainShadow(error: unknown, address: ServerAddress): string {
  const database = describeDatabase(address)
  if (sqlState(error) !== NOT_ALLOWED) return toDatabaseError(error, database).message
  return `${database}: this user may not create databases, and this command needs a temporary one: run ALTER ROLE ${address.user} CREATEDB`
}
