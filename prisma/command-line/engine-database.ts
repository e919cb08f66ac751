import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import {
  isDriverAdapterError,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
  type SqlQuery,
  type SqlResultSet,
} from '@prisma/driver-adapter-utils'
import { select } from '../src/sql.ts'
import { keepStatements } from '../src/sqlite/connection/connect.ts'

// SQLite keeps its table of autoincrements, so this keeps the table of migrations: without it the engine does not treat a
// database with any table as empty.
const DROP_STATEMENTS = `
  SELECT iif(name = '_prisma_migrations', 'DELETE FROM ', 'DROP ' || type || ' ') || '"' || replace(name, '"', '""') || '"'
    AS statement
  FROM sqlite_schema
  WHERE type IN ('view', 'table') AND name NOT GLOB 'sqlite_*'
  ORDER BY type DESC`

/** The database as the schema engine sees it, with what its WebAssembly build does not do itself. */
export class EngineDatabase implements SqlMigrationAwareDriverAdapterFactory {
  readonly provider = 'sqlite'
  readonly adapterName: string
  readonly #factory: PrismaBetterSqlite3
  #connection: SqlDriverAdapter | undefined

  constructor(url: string) {
    this.#factory = new PrismaBetterSqlite3({ url })
    this.adapterName = this.#factory.adapterName
  }

  async connect(): Promise<SqlDriverAdapter> {
    this.#connection = adapt(keepStatements(await this.#factory.connect()))
    return this.#connection
  }

  async connectToShadowDb(): Promise<SqlDriverAdapter> {
    return adapt(keepStatements(await this.#factory.connectToShadowDb()))
  }

  /** Runs `migrate reset`: the engine's own only empties the tables, and then fails to create them. */
  async reset(): Promise<void> {
    const connection = this.#connection
    if (!connection) throw new Error('The schema engine has not connected yet')
    const statements = (await select(connection, DROP_STATEMENTS)).map(({ statement }) => `${statement};`)
    await connection.executeScript(
      `PRAGMA foreign_keys = OFF; BEGIN; ${statements.join(' ')} COMMIT; PRAGMA foreign_keys = ON`,
    )
  }
}

function adapt(connection: SqlDriverAdapter): SqlDriverAdapter {
  const queryRaw = connection.queryRaw.bind(connection)
  const executeRaw = connection.executeRaw.bind(connection)
  return Object.assign(connection, {
    // The engine fails if the table of applied migrations is missing.
    queryRaw: (query: SqlQuery) => queryRaw(query).catch(noMigrationsYet),
    // The engine runs whole migrations on the shadow database this way, but the adapter only supports one statement.
    executeRaw: async (query: SqlQuery) => {
      if (query.args.length > 0) return executeRaw(query)
      await connection.executeScript(query.sql)
      return 0
    },
  })
}

function noMigrationsYet(error: unknown): SqlResultSet {
  const missing =
    isDriverAdapterError(error) && error.cause.kind === 'TableDoesNotExist' ? error.cause.table : undefined
  if (missing !== '_prisma_migrations') throw error
  return { columnNames: [], columnTypes: [], rows: [] }
}
