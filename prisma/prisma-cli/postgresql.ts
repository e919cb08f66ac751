import { randomUUID } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import { ColumnTypeEnum, type SqlDriverAdapter, type SqlQuery, type SqlResultSet } from '@prisma/driver-adapter-utils'
import type pg from 'pg'
import { type Address, readAddress } from '../src/postgresql/address.ts'
import { openPool } from '../src/postgresql/pool.ts'
import { noMigrationsYet, prismaError, type SchemaEngineDatabase } from './schema-engine-database.ts'

/** Opens a database for the methods of the engine. @throws {Error} if it does not exist or cannot be used */
export async function openForSchemaEngine(url: string): Promise<SchemaEngineDatabase> {
  const address = readAddress(url)
  if (address.isPooled) {
    // A pooler would leave the engine's locks to others that use the same session.
    throw prismaError('P1011', 'This command cannot go through a pooler: name PostgreSQL itself in DATABASE_URL')
  }
  const connection = await connect(address)
  const database: SchemaEngineDatabase = {
    provider: 'postgres',
    adapterName: connection.adapterName,
    connect: async () => connection,
    connectToShadowDb: () =>
      createShadowDatabase(address, connection.getConnectionInfo?.().schemaName).catch((error: unknown) => {
        database.reason = error
        throw error
      }),
    reason: undefined,
    close: () => connection.dispose(),
  }
  return database
}

/** Runs a statement on a connection of its own. */
async function execute(address: Address, sql: string): Promise<void> {
  await using pool = openPool(address, { max: 1 })
  await pool.query(sql)
}

/** Returns a connection for the schema engine, whose locks it holds. It connects at the first query. */
async function connect(address: Address): Promise<SqlDriverAdapter> {
  const { driver, query, [Symbol.asyncDispose]: dispose } = openPool(address, { max: 1 })
  const [[schema] = ['']] = await query<[string]>('SELECT current_schema()')
  const restoreChars = readCharColumns(driver)
  const adapter = await new PrismaPg(driver, { schema }).connect()
  const queryRaw = adapter.queryRaw.bind(adapter)
  return Object.assign(adapter, {
    queryRaw: (query: SqlQuery) => queryRaw(query).then(restoreChars).catch(noMigrationsYet),
    // Sent whole: the adapter splits a script at every semicolon.
    executeScript: async (sql: string) => void (await adapter.executeRaw({ sql, args: [], argTypes: [] })),
    dispose,
  })
}

/** PostgreSQL's numbers of the type "char", and of its array, which no query of the engine returns. */
const CHAR = 18
const CHARS = 1002

/**
 * Lets the driver adapter read columns of the type "char", which PostgreSQL's catalogue has and the adapter rejects.
 *
 * @returns restores the type in a result: the engine accepts no other
 */
function readCharColumns(pool: pg.Pool): (result: SqlResultSet) => SqlResultSet {
  const query = pool.query.bind(pool) as (config: pg.QueryArrayConfig) => Promise<pg.QueryArrayResult>
  const queryAndRelabel = async (config: pg.QueryArrayConfig) => {
    const result = await query(config)
    // A script returns one result for each statement, without fields.
    for (const field of result.fields ?? []) if (field.dataTypeID === CHAR) field.dataTypeID = CHARS
    return result
  }
  Object.assign(pool, { query: queryAndRelabel })
  const { Character, CharacterArray } = ColumnTypeEnum
  return (result) => ({
    ...result,
    columnTypes: result.columnTypes.map((type) => (type === CharacterArray ? Character : type)),
  })
}

/**
 * Creates an empty database, in which the engine applies the migrations to see what they lead to, and connects to it.
 * Disposing of the connection drops the database.
 *
 * @param address a database on the same server, from which it can be created
 * @param schema the one in which this user creates tables
 */
async function createShadowDatabase(address: Address, schema = 'public'): Promise<SqlDriverAdapter> {
  // The name that Prisma's own engine would choose.
  const name = `prisma_migrate_shadow_db_${randomUUID()}`
  try {
    await execute(address, `CREATE DATABASE "${name}" TEMPLATE template0 ENCODING 'UTF8'`)
  } catch (error) {
    const advice = 'this command needs a temporary database: run ALTER ROLE ... CREATEDB for this user'
    throw prismaError('P3014', `${(error as Error).message}; ${advice}`, error)
  }
  const shadow = { ...address, config: { ...address.config, database: name } }
  await execute(shadow, `CREATE SCHEMA IF NOT EXISTS "${schema.replaceAll('"', '""')}"`)
  const connection = await connect(shadow)
  const { dispose } = connection
  const drop = () => execute(address, `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`)
  return Object.assign(connection, { dispose: () => dispose().finally(drop) })
}
