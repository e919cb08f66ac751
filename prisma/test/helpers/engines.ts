import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import {
  createMigrated,
  openConnection,
  query,
  runSql,
  sharedPostgresql,
} from '../../../test/helpers/database/databases.ts'
import { cloneDatabase } from '../../../test/helpers/database/postgresql.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary.ts'
import { migrateDatabase } from '../../src/index.ts'
import { outcomeOf } from './open-client.ts'

/** Characters that mean something in URLs, and others that shells and SQL do not take as they are. */
const NAME = `plänts #1 50%20? it's "here" & a;b=$c plants.db`

/** Names a SQLite file in a folder of its own. */
export async function newSqliteDatabase() {
  const { file, url } = temporaryDatabase(NAME)
  return {
    url,
    /** How messages name it. */
    name: file,
    /** Creates it without any table. */
    createEmpty: async (): Promise<unknown> => writeFileSync(file, '', { mode: 0o600 }),
    /** Keeps migrations out, until what it returns runs a statement and ends that. */
    lock: () => lock(url, 'BEGIN IMMEDIATE', 'COMMIT'),
    /** Returns all that is stored, to check that nothing has changed. */
    contents: async (): Promise<unknown> => contentsOf(path.dirname(file)),
  }
}

/** A database that does not exist yet, to test what both engines do alike. */
export type TestDatabase = Awaited<ReturnType<typeof newSqliteDatabase>>

/** Returns every path below `folder` with its mode and content. */
export function contentsOf(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {}
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
  const describe = (location: string) => {
    const stats = statSync(location)
    return `${stats.mode.toString(8)} ${stats.isFile() ? readFileSync(location, 'base64') : 'folder'}`
  }
  return Object.fromEntries(paths.map((each) => [each, describe(path.join(folder, each))]))
}

const CONTENTS = `
  SELECT tablename, query_to_xml(format('SELECT * FROM %I', tablename), true, false, '')::text AS rows
  FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`

/** Of this process: test files share the server. */
let databases = 0

/** Names a PostgreSQL database. */
export async function newPostgresqlDatabase(): Promise<TestDatabase> {
  const { port, unused } = await sharedPostgresql()
  const name = `plants_${process.pid}_${databases++}`
  const url = unused(name)
  return {
    url,
    name: `the database "${name}" at 127.0.0.1:${port}`,
    createEmpty: () => cloneDatabase(url, 'template1'),
    lock: () => lock(url, 'SELECT pg_advisory_lock(72707369)', 'SELECT pg_advisory_unlock_all()'),
    contents: () => query(url, CONTENTS).catch((error) => (error.code === '3D000' ? {} : Promise.reject(error))),
  }
}

/** Returns the temporary databases that `migrate dev` and `migrate diff` have left. */
export async function shadowDatabases(): Promise<unknown[]> {
  const { url } = await sharedPostgresql()
  return query(url('postgres'), `SELECT datname FROM pg_database WHERE datname LIKE 'prisma_migrate%'`)
}

/**
 * Creates a user, whose name no other file uses, with a password of special characters, and attributes such as SUPERUSER.
 * Returns the password, and what returns the URL of a database with this user.
 */
export async function newRole(name: string, attributes = '') {
  const { url } = await sharedPostgresql()
  const password = `${name}'s p@ss/w#rd "100 %"`
  await runSql(url('postgres'), `CREATE ROLE ${name} LOGIN ${attributes} PASSWORD '${password.replaceAll("'", "''")}'`)
  return { password, as: (each: string) => each.replace('postgres@', () => `${name}:${encodeURIComponent(password)}@`) }
}

async function lock(url: string, begin: string, end: string) {
  const { run, close } = await openConnection(url)
  await run(begin)
  return (sql = 'SELECT 1') => run(`${sql}; ${end}`).finally(close)
}

/** Expects that migrating fails with this one line, which names the database, and changes nothing. */
export async function expectRejection(database: TestDatabase, message: RegExp, folder?: string): Promise<void> {
  const before = await database.contents()
  const outcome = await outcomeOf(migrateDatabase(database.url, folder))
  expect(outcome).toMatch(message)
  expect(outcome).toContain(database.name)
  expect(outcome).not.toContain('\n')
  expect(await database.contents()).toEqual(before)
}

/** Creates a migrated database: much faster than migrating it. */
export async function migrated(database: Promise<TestDatabase>): Promise<TestDatabase> {
  await createMigrated((await database).url)
  return database
}

/** What both engines do alike is tested with `describe.each(engines)`. */
export const engines = [
  { engine: 'sqlite', newDatabase: newSqliteDatabase },
  { engine: 'postgresql', newDatabase: newPostgresqlDatabase },
] as const
