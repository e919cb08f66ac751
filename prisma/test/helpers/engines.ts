import { writeFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { afterAll, vi } from 'vitest'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { connect, query, runSql } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { contentsOf } from './contents.ts'

/** A database that does not exist yet, to test what both engines do alike. */
export interface TestDatabase {
  readonly url: string
  /** How messages name it. */
  readonly name: string
  /** Creates it without any table. */
  createEmpty(): Promise<void>
  /** Runs statements that return nothing. */
  run(sql: string): Promise<void>
  /** Runs one statement and returns its rows. */
  query(sql: string): Promise<unknown[]>
  /** Returns how its tables, indexes, triggers and functions are defined. */
  definitions(): Promise<unknown>
  /** Keeps migrations out, until what it returns runs a statement and ends that. */
  lock(): Promise<Unlock>
  /** Returns all that is stored, to check that nothing has changed. */
  contents(): Promise<unknown>
}

type Unlock = (sql?: string) => Promise<void>

/** Names a SQLite file in a folder of its own. */
function newSqliteDatabase(): Promise<TestDatabase> {
  const { file, url } = temporaryDatabase()
  return Promise.resolve({
    url,
    name: file,
    createEmpty: async () => writeFileSync(file, ''),
    run: async (sql) => runSql(file, sql),
    query: async (sql) => query(file, sql),
    definitions: async () => query(file, 'SELECT name, sql FROM sqlite_schema ORDER BY name'),
    async lock() {
      const connection = connect(file)
      connection.exec('BEGIN IMMEDIATE')
      return async (sql = '') => void connection.exec(`${sql}; COMMIT`)
    },
    contents: async () => contentsOf(path.dirname(file)),
  })
}

const DEFINITIONS = `
  SELECT 'column' AS kind, concat_ws(' ', table_name, column_name, data_type, datetime_precision, is_nullable, column_default,
    collation_name, identity_generation) AS definition
  FROM information_schema.columns WHERE table_schema = 'public'
  UNION ALL SELECT 'constraint', pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
  UNION ALL SELECT 'index', indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT 'trigger', pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT 'function', pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  ORDER BY kind, definition`
const CONTENTS = `
  SELECT tablename, query_to_xml(format('SELECT * FROM %I', tablename), true, false, '')::text AS rows
  FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`

// Starting PostgreSQL takes a second, and many on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

let server: Promise<PostgresqlServer> | undefined
let databases = 0
afterAll(async () => {
  await (await server)?.remove()
})

/** Returns the PostgreSQL server of this test file, which the first call starts. */
function testServer(): Promise<PostgresqlServer> {
  server ??= startPostgresql({ prepare: demandPasswords })
  return server
}

/** Demands a password from every user but postgres. */
function demandPasswords(folder: string): void {
  const lines = ['host all postgres 127.0.0.1/32 trust', 'host all all 127.0.0.1/32 scram-sha-256']
  writeFileSync(path.join(folder, 'pg_hba.conf'), `${lines.join('\n')}\n`)
}

/** Names a PostgreSQL database. */
export async function newPostgresqlDatabase(): Promise<TestDatabase> {
  const { port, url: urlOf } = await testServer()
  const name = `plants_${databases++}`
  const url = urlOf(name)
  const rows = (sql: string) => queryPostgresql(url, sql)
  return {
    url,
    name: `the database "${name}" at 127.0.0.1:${port}`,
    createEmpty: async () => void (await queryPostgresql(urlOf('postgres'), `CREATE DATABASE ${name}`)),
    run: async (sql) => void (await rows(sql)),
    query: rows,
    definitions: () => rows(DEFINITIONS),
    lock: () => lockMigrations(url),
    contents: async () => {
      const existing = await queryPostgresql(urlOf('postgres'), `SELECT FROM pg_database WHERE datname = '${name}'`)
      return existing.length > 0 ? rows(CONTENTS) : []
    },
  }
}

/** Runs one statement on a connection of its own and returns its rows. */
async function queryPostgresql(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** Returns the temporary databases that `migrate dev` and `migrate diff` have left. */
export async function shadowDatabases(): Promise<unknown[]> {
  const { url } = await testServer()
  return queryPostgresql(url('postgres'), `SELECT datname FROM pg_database WHERE datname LIKE 'prisma_migrate%'`)
}

/** A user that proves who it is with a password. */
export interface TestRole {
  readonly password: string
  /** Returns the URL of a database with this user. */
  as(url: string): string
}

/** Creates a user with a password of special characters, and attributes such as SUPERUSER. */
export async function newRole(name: string, attributes = ''): Promise<TestRole> {
  const { url } = await testServer()
  const password = `${name}'s p@ss/w#rd "100 %"`
  await queryPostgresql(
    url('postgres'),
    `CREATE ROLE ${name} LOGIN ${attributes} PASSWORD '${password.replaceAll("'", "''")}'`,
  )
  return { password, as: (each) => each.replace('postgres@', () => `${name}:${encodeURIComponent(password)}@`) }
}

async function lockMigrations(url: string): Promise<Unlock> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('SELECT pg_advisory_lock(72707369)')
  return async (sql = 'SELECT 1') => {
    await client.query(sql).finally(() => client.end())
  }
}

/** What both engines do alike is tested with `describe.each(engines)`. */
export const engines = [
  { engine: 'sqlite', newDatabase: newSqliteDatabase },
  { engine: 'postgresql', newDatabase: newPostgresqlDatabase },
] as const
