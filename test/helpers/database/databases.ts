/** Databases of the engine that a test run is for, SQLite or PostgreSQL, so that the same tests run on both. */
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { backupDatabase, migrateDatabase } from '@plant-store/prisma'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { afterFile, temporaryDatabase } from '../temporary.ts'
import { cloneDatabase, type PostgresqlOptions, sharedPort, startPostgresql, urlOf } from './postgresql.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The engine that the tests run on. */
    engine: 'sqlite' | 'postgresql'
  }
}

/** The engine of this run. */
export const engine = inject('engine')

/** Returns the URL of a database that does not exist yet. */
async function unusedDatabaseUrl(): Promise<string> {
  if (engine === 'sqlite') return temporaryDatabase().url
  return (await sharedPostgresql()).unused(`test ${randomUUID()}`)
}

/** The path in the URL of a SQLite database, which is not percent-encoded. */
const fileOf = (url: string) => url.replace('file:', '')

/** Creates an empty, migrated database and returns its URL. */
export async function newDatabase(): Promise<string> {
  return createMigrated(await unusedDatabaseUrl())
}

/** Creates an empty database as it is after all migrations, of the engine in its URL: much faster than migrating it. */
export async function createMigrated(url: string): Promise<string> {
  if (url.startsWith('postgresql:')) await cloneDatabase(url)
  else await writeNewDatabase(fileOf(url))
  return url
}

let newFile: Promise<Buffer> | undefined

/** Writes an empty, migrated SQLite file. */
export async function writeNewDatabase(file: string): Promise<void> {
  newFile ??= migrateFile()
  await writeFile(file, await newFile, { mode: 0o600 })
}

async function migrateFile(): Promise<Buffer> {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  return readFile(file)
}

/** Copies a database that no server has open, as a restored backup, and returns the URL of the copy. */
export async function copyDatabase(url: string): Promise<string> {
  const copy = await unusedDatabaseUrl()
  if (engine === 'postgresql') await cloneDatabase(copy, decodeURIComponent(new URL(url).pathname.slice(1)))
  else await backupDatabase(url, fileOf(copy))
  return copy
}

/** The PostgreSQL server of a run, for databases whose names no other file uses. They are dropped after the test file. */
export async function sharedPostgresql() {
  const port = await sharedPort()
  const url = (database: string) => urlOf(port, database)
  /** Returns the URL of a database that does not exist yet. */
  const unused = (database: string): string => {
    afterFile(() => runSql(url('postgres'), `DROP DATABASE IF EXISTS "${database}" WITH (FORCE)`))
    return url(database)
  }
  /** Creates a migrated database without plants. Returns its URL. */
  const create = (database: string): Promise<string> => createMigrated(unused(database))
  return { port, url, unused, create }
}

/** Starts a PostgreSQL server of its own until the end of the test file. */
export async function startOwnPostgresql(options?: PostgresqlOptions) {
  const own = await startPostgresql(options)
  afterFile(own.remove)
  return { ...own, administrate: (sql: string) => runSql(own.url('postgres'), sql) }
}

/** A connection to a database past the server, as another program has it. */
export type Connection = Awaited<ReturnType<typeof openPostgresql>>

/** Opens a connection, to be closed before the server. */
export async function openConnection(url: string): Promise<Connection> {
  return url.startsWith('postgresql:') ? openPostgresql(url) : openSqlite(fileOf(url))
}

/** Opens a SQLite file until the test ends, as another process does, to lock it. */
export function connect(file: string): DatabaseSync {
  const connection = new DatabaseSync(file)
  onTestFinished(() => {
    if (connection.isOpen) connection.close()
  })
  return connection
}

/** Runs SQL on a database, as another program does. */
export async function runSql(url: string, sql: string): Promise<void> {
  const connection = await openConnection(url)
  await connection.run(sql).finally(connection.close)
}

/** Returns the rows of a query, as another program reads them. */
export async function query<Row>(url: string, sql: string): Promise<Row[]> {
  const connection = await openConnection(url)
  return connection.query<Row>(sql).finally(connection.close)
}

async function openPostgresql(url: string) {
  const client = new pg.Client(url)
  await client.connect()
  return {
    run: async (sql: string): Promise<void> => void (await client.query(sql)),
    /** Returns the rows of a query, as objects. */
    query: async <Row>(sql: string): Promise<Row[]> => (await client.query(sql)).rows,
    close: () => client.end(),
  }
}

function openSqlite(file: string): Connection {
  const database = new DatabaseSync(file, { timeout: 5_000 })
  return {
    run: async (sql) => database.exec(sql),
    query: async <Row>(sql: string) => database.prepare(sql).all() as Row[],
    close: async () => database.close(),
  }
}

const CREATE_ROLE = `
  DO $$ BEGIN CREATE ROLE plant_store LOGIN PASSWORD 'secret'; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`

/** Returns the URL of a database with the rights that rights.sql grants; of a SQLite file, its URL. */
export async function asServer(url: string): Promise<string> {
  if (!url.startsWith('postgres')) return url
  const rights = new URL('../../../docs/production/several-machines/rights.sql', import.meta.url)
  await runSql(url, `${CREATE_ROLE}; ${await readFile(rights, 'utf8')}`)
  return url.replace('postgres@', 'plant_store:secret@')
}
