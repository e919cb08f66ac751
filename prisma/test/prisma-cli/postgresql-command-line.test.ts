import { expect, test, vi } from 'vitest'
import { until } from '../../../test/helpers/until.ts'
import { migrateDatabase } from '../../src/index.ts'
import { newPostgresqlDatabase, newRole, shadowDatabases } from '../helpers/engines.ts'
import { commandLines, runPrisma } from '../helpers/run.ts'

// A command takes a second or two, and several on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const diff = (migrations: string) => [
  ...['migrate', 'diff', '--from-migrations', migrations, '--to-schema', 'postgresql/schema.prisma', '--exit-code'],
]

test('migrate diff needs no database of ours, and drops the one that it creates', async () => {
  const { url, contents } = await newPostgresqlDatabase()
  // The migrations of SQLite fail there.
  for (const [migrations, code] of [
    ['postgresql/migrations', 0],
    ['migrations', 1],
  ] as const) {
    expect(await runPrisma(diff(migrations), url)).toMatchObject({ code })
    expect([await contents(), await shadowDatabases()]).toEqual([[], []])
  }
})

test('migrate diff by a user that may not create databases gets a sentence', async () => {
  const { url } = await newPostgresqlDatabase()
  const { code, stderr } = await runPrisma(diff('postgresql/migrations'), (await newRole('gardener')).as(url))
  expect(code).toBe(1)
  expect(stderr).toMatch(/this user may not create databases.*run ALTER ROLE gardener CREATEDB/s)
})

test('a command through a pooler, which would keep its locks, gets a sentence', async () => {
  const { url, createEmpty } = await newPostgresqlDatabase()
  await createEmpty()
  const { code, stderr } = await runPrisma(['migrate', 'status'], `${url}?pgbouncer=true`)
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('cannot go through a pooler: name') })
})

test('migrate reset drops functions and types, but not extensions and who may use the schema', async () => {
  const { url, run, query } = await newPostgresqlDatabase()
  await migrateDatabase(url)
  await newRole('reader')
  await run(`
    CREATE EXTENSION citext;
    GRANT USAGE ON SCHEMA public TO reader;
    CREATE TYPE "Light" AS ENUM ('sun', 'shade');
    CREATE TYPE "Size" AS (height INTEGER);
    CREATE DOMAIN "Name" AS citext;
    CREATE SEQUENCE "Pots";
    CREATE FUNCTION "Light"() RETURNS "Light" LANGUAGE sql RETURN 'sun'::"Light";
    CREATE MATERIALIZED VIEW "Lights" AS SELECT "Light"() AS light;
    CREATE TABLE "pg_class" (light "Light" DEFAULT "Light"())`)
  const acl = `SELECT nspacl::text FROM pg_namespace WHERE nspname = 'public'`
  const before = await query(acl)

  expect(await runPrisma(['migrate', 'reset', '--force'], url)).toMatchObject({ code: 0 })
  const [left] = await query(`
    SELECT to_regtype('"Light"') AS light, to_regtype('"Size"') AS size, to_regtype('"Name"') AS name,
      to_regclass('"Pots"') AS pots, to_regclass('public.pg_class') AS class, to_regtype('citext')::text AS extension`)
  expect(left).toEqual({ light: null, size: null, name: null, pots: null, class: null, extension: 'citext' })
  expect(await query(acl)).toEqual(before)
  expect(await migrateDatabase(url)).toEqual({ applied: [] })
})

test('migrate deploy and a starting server wait for each other', async () => {
  const { url, createEmpty, query, lock } = await newPostgresqlDatabase()
  await createEmpty()
  const unlock = await lock()
  const both = Promise.all([runPrisma(['migrate', 'deploy'], url), migrateDatabase(url)])
  await until(async () => (await query(WAITING)).length === 2, 120_000)
  await unlock()

  const [deployed] = await both
  expect(deployed).toMatchObject({ code: 0, stderr: expect.not.stringContaining('rror') })
  expect(await query('SELECT count(*) - count(DISTINCT migration_name) AS twice FROM _prisma_migrations')).toEqual([
    { twice: '0' },
  ])
  expect(await runPrisma(['migrate', 'status'], url)).toMatchObject({ code: 0 })
})

test.skipIf(process.platform !== 'linux')(
  'a password appears neither in an argument nor in what is printed',
  async () => {
    const { url, createEmpty, query, lock } = await newPostgresqlDatabase()
    await createEmpty()
    const { password, as } = await newRole('keeper', 'SUPERUSER')
    const unlock = await lock()
    const deploying = runPrisma(['migrate', 'deploy'], `${as(url)}?application_name=deploy`)
    await until(async () => (await query(`${WAITING} AND application_name = 'deploy'`)).length === 1, 120_000)
    const running = commandLines()
    await unlock()

    const { code, stdout, stderr } = await deploying
    expect(code).toBe(0)
    const engine = running.filter((line) => line.includes('schema-engine.js') && line.includes(new URL(url).pathname))
    expect(engine).toHaveLength(1)
    for (const secret of [password, encodeURIComponent(password)]) {
      expect(running.filter((line) => line.includes(secret))).toEqual([])
      expect(stdout + stderr).not.toContain(secret)
    }
  },
)

/** Those that wait for the lock on migrations. */
const WAITING = `
  SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'`
