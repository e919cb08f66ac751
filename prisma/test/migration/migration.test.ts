import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connect, query, runSql } from '../../../test/helpers/database/databases.ts'
import { postgresqlUser } from '../../../test/helpers/database/postgresql.ts'
import { whyImpossible } from '../../../test/helpers/long-tests.ts'
import { until } from '../../../test/helpers/programs.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { loadEngine } from '../../src/address.ts'
import { openDatabase } from '../../src/database.ts'
import { checkMigrated, migrateDatabase } from '../../src/index.ts'
import { readMigrations } from '../../src/migrations.ts'
import {
  engines,
  expectRejection,
  migrated,
  newPostgresqlDatabase,
  newRole,
  newSqliteDatabase,
} from '../helpers/engines.ts'
import { packageFolder, run } from '../helpers/run.ts'

const INSERT = `INSERT INTO "Plant" ("account", "id", "name") VALUES ('alice', '1', 'Monstera')`

/**
 * The migrations that databases have, with the beginnings of their checksums: they are never edited or renamed. A
 * change is a new one, on both engines, which a release adds here.
 */
const LANDED = [
  { name: '20261121230000_initial', sqlite: '2525d797e9ebbe12', postgresql: '87e7e79d8a80782a' },
  { name: '20261123190000_edit_times', sqlite: 'e379188afe03bad7', postgresql: 'e2bcd36aa4bedb9e' },
  { name: '20261125090000_list_versions', sqlite: 'a520b2df21a8719a', postgresql: '03f590654e859c0b' },
  { name: '20261127040000_numbers_above', sqlite: '3b1f48aff88a420c', postgresql: '2871b0736598d8cb' },
]
const read = async (url: string) => readMigrations((await loadEngine(url)).migrationsFolder)
const MIGRATIONS = { sqlite: await read('file:/plants.db'), postgresql: await read('postgresql://h/plants') }
const NAMES = MIGRATIONS.sqlite.map(({ name }) => name)

test('both engines have the same migrations, of which those that have landed are unchanged', async () => {
  const checksum = (script = '') => createHash('sha256').update(script).digest('hex').slice(0, 16)
  const own = MIGRATIONS.sqlite.map(({ name, script }, index) => {
    return { name, sqlite: checksum(script), postgresql: checksum(MIGRATIONS.postgresql[index]?.script) }
  })
  expect(own.slice(0, LANDED.length)).toEqual(LANDED)
  expect(MIGRATIONS.postgresql.map(({ name }) => name)).toEqual(NAMES)
  const advice = 'Prisma drops an index that is not in the schema: remove that, or say in its comment why it goes'
  for (const { name, script } of Object.values(MIGRATIONS).flat())
    expect(script, `${name}: ${advice}`).not.toMatch(/^-- DropIndex$/m)
})

/** Makes a folder with an engine's real migrations, or none, followed by these: SQL by name. */
function migrationsWith(further: Record<string, string>, engine: 'sqlite' | 'postgresql' | 'none' = 'sqlite'): string {
  const folder = temporaryFolder()
  const source = path.join(packageFolder, engine === 'sqlite' ? '.' : engine, 'migrations')
  if (engine !== 'none') cpSync(source, folder, { recursive: true })
  for (const [name, script] of Object.entries(further)) {
    mkdirSync(path.join(folder, name))
    writeFileSync(path.join(folder, name, 'migration.sql'), script)
  }
  writeFileSync(path.join(folder, '99990101000000_file'), 'is no migration')
  return folder
}

const withPots = (engine: 'sqlite' | 'postgresql') =>
  migrationsWith({ '90000101000000_pots': 'CREATE TABLE "Pot" (size INTEGER);' }, engine)

describe.each(engines)('on $engine', ({ engine, newDatabase }) => {
  const HISTORY =
    'CREATE TABLE _prisma_migrations AS SELECT 1 AS checksum, 1 AS finished_at, NULL AS rolled_back_at, 1 AS migration_name'
  const UNUSED = `${HISTORY} WHERE false; CREATE TABLE bookmarks (url TEXT)`
  test.each(['CREATE TABLE "Plant" (id TEXT)', HISTORY, UNUSED])(
    'the database of another program, or of another plant store, is rejected: %s',
    async (sql) => {
      const database = await newDatabase()
      await database.createEmpty()
      await runSql(database.url, sql)
      await expectRejection(database, /belongs to another program: .*point DATABASE_URL at another database/)
    },
  )

  test('tables of extensions and of tools do not count', async () => {
    const { url, createEmpty } = await newDatabase()
    await createEmpty()
    const names = ['_litestream_seq', '_litestream_lock', '_cf_KV', 'spatial_ref_sys']
    await runSql(url, names.map((name) => `CREATE TABLE "${name}" (id INTEGER)`).join(';'))
    const own = 'CREATE EXTENSION citext; CREATE TABLE layer (); ALTER EXTENSION citext ADD TABLE layer'
    await runSql(url, engine === 'postgresql' ? own : 'CREATE INDEX seq ON _litestream_seq (id); ANALYZE')
    expect(await migrateDatabase(url)).toEqual({ applied: NAMES })
    await checkMigrated(url)
  })

  test('a failing migration undoes the ones before it, also in a database with plants', async () => {
    const empty = await newDatabase()
    await empty.createEmpty()
    const bad = 'CREATE TABLE "B" (size INTEGER); CREATE TABEL "C";'
    const none = migrationsWith({ '1_good': 'CREATE TABLE "Good" (size INTEGER);', '2_bad': bad }, 'none')
    await expectRejection(empty, /not migrated and is unchanged: the migration 2_bad failed with: .*syntax error/, none)

    const filled = await migrated(newDatabase())
    await runSql(filled.url, INSERT)
    const scripts = { '9_good': 'DELETE FROM "Plant";', '9_worse': 'INSERT INTO "Nowhere" VALUES (1);' }
    await expectRejection(filled, /the migration 9_worse failed with: .*Nowhere/, migrationsWith(scripts, engine))
  })

  test('only new migrations are applied to a database with plants, which stay, and a check changes nothing', async () => {
    const { url, name, contents } = await migrated(newDatabase())
    await runSql(url, INSERT)
    // As `pg_dump --data-only` into a migrated database does.
    const columns = 'checksum, finished_at, migration_name'
    await runSql(
      url,
      `INSERT INTO _prisma_migrations (id, ${columns}) SELECT migration_name, ${columns} FROM _prisma_migrations`,
    )
    const before = await contents()
    const pots = withPots(engine)
    await checkMigrated(url)
    const needed = `${name} needs the migrations 90000101000000_pots: run "plant-store migrate"`
    await expect(checkMigrated(url, pots)).rejects.toThrow(needed)
    expect(await contents()).toEqual(before)

    expect(await migrateDatabase(url, pots)).toEqual({ applied: ['90000101000000_pots'] })
    expect(await query(url, 'SELECT "name" FROM "Plant"')).toEqual([{ name: 'Monstera' }])
    expect(await query(url, 'SELECT * FROM "Pot"')).toEqual([])
  })

  test('migrating waits for another process, and a newer version that migrates first wins', async () => {
    const { url, lock } = await migrated(newDatabase())
    const unlock = await lock()
    const folder = withPots(engine)
    const newer = 'a newer version, or one that was never released, with the migration 9_newer: start that version'
    const begun = Promise.withResolvers<unknown>()
    const migrating = expect(migrateDatabase(url, folder, begun.resolve)).rejects.toThrow(newer)
    // The check before the lock has found something pending.
    await begun.promise
    await unlock(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('1', '1', '9_newer', CURRENT_TIMESTAMP)`,
    )
    await migrating
    await expect(query(url, 'SELECT * FROM "Pot"')).rejects.toThrow()
  })

  test('of two that create a file, and of two that migrate a database, at the same time, one does', async () => {
    const { url, name, createEmpty } = await newDatabase()
    if (engine === 'postgresql') await createEmpty()
    const migrate = async (folder?: string) => (await migrateDatabase(url, folder)).applied
    expect((await Promise.all([migrate(), migrate()])).sort()).toEqual([[], NAMES])
    expect(await query(url, 'SELECT migration_name FROM _prisma_migrations')).toHaveLength(NAMES.length)
    const pots = withPots(engine)
    expect((await Promise.all([migrate(pots), migrate(pots)])).sort()).toEqual([[], ['90000101000000_pots']])
    if (engine !== 'sqlite') return
    expect(readdirSync(path.dirname(name))).toEqual([path.basename(name)])
    expect((statSync(name).mode & 0o777).toString(8)).toBe('600')
  })
})

describe('a SQLite file', () => {
  test.each([
    [`checksum = 'other'`, /migrated with another text of \d+_initial, .*: restore .*, or point .* at a new database/],
    ['finished_at = NULL', /incomplete because the migration \d+_initial was interrupted: restore/],
  ])('whose history is not ours is rejected: %s', async (change, message) => {
    const database = await migrated(newSqliteDatabase())
    await runSql(database.url, `UPDATE _prisma_migrations SET ${change} WHERE migration_name LIKE '%_initial'`)
    await expectRejection(database, message)
  })

  test('that is migrated is locked from then on, and keeps the rows that refer to a table that is replaced', async () => {
    const { url, name } = await migrated(newSqliteDatabase())
    await runSql(
      url,
      `${INSERT}; CREATE TABLE Leaf (plant INTEGER REFERENCES Plant (seq) ON DELETE CASCADE); INSERT INTO Leaf VALUES (1)`,
    )
    const replace = 'CREATE TABLE new AS SELECT * FROM Plant; DROP TABLE Plant; ALTER TABLE new RENAME TO Plant'
    const other = connect(name)
    const steps: string[] = []
    await migrateDatabase(url, migrationsWith({ '9_replace': replace }), (step) => {
      // Before the first of them is applied, no other process may write either.
      if (steps.push(step) === 2) expect(() => other.exec('BEGIN IMMEDIATE')).toThrow('database is locked')
    })
    expect(steps).toEqual([expect.any(String), 'applying the migration 9_replace, 1 of 1'])
    expect(await query(url, 'SELECT plant FROM Leaf')).toEqual([{ plant: 1 }])
  })

  test('with other content, or that is a folder, is rejected', async () => {
    const [other, folder] = [await newSqliteDatabase(), await newSqliteDatabase()]
    writeFileSync(other.name, 'Dear diary, today I watered the Monstera. '.repeat(100))
    mkdirSync(folder.name)
    await expectRejection(other, /is not a SQLite database: point DATABASE_URL at another file/)
    await expectRejection(folder, /cannot be opened: it must be a file/)
    await expect(checkMigrated(other.url)).rejects.toThrow('is not a SQLite database')
  })

  // Root may do anything, so another user has to try, who may not be able to read this repository.
  const whyNoUser = whyImpossible('Another user', () =>
    execFileSync(process.execPath, ['--version'], { ...postgresqlUser, cwd: packageFolder }),
  )
  test.skipIf(whyNoUser).each(['200 700', '400 700', '600 500', '600 000'])(
    'that a user may not read, write or find is rejected: %s',
    async (modes) => {
      const { name, url } = await migrated(newSqliteDatabase())
      const folder = path.dirname(name)
      const { uid, gid } = postgresqlUser
      if (uid && gid) for (const each of [name, folder]) chownSync(each, uid, gid)
      const [fileMode = '', folderMode = ''] = modes.split(' ')
      chmodSync(name, fileMode)
      chmodSync(folder, folderMode)
      onTestFinished(() => chmodSync(folder, 0o700))
      const migrate = `import { migrateDatabase } from '@plant-store/prisma'; await migrateDatabase(process.argv[1])`
      const { stderr } = await run(process.execPath, ['--input-type=module', '--eval', migrate, url], postgresqlUser)
      const reason = 'it must be a file that this user may read and write, in a folder that this user may write to'
      expect(stderr).toContain(`StorageError: ${name} cannot be opened: ${reason}\n`)
    },
  )
})

describe('a PostgreSQL database', () => {
  test('is migrated whatever time limits its role has, and says that it waits', async () => {
    const { url, name, lock } = await migrated(newPostgresqlDatabase())
    const role = await newRole('limited', 'SUPERUSER')
    const limits = [`statement_timeout = '1h'`, `lock_timeout = '1ms'`, `idle_in_transaction_session_timeout = '1h'`]
    await runSql(url, limits.map((setting) => `ALTER ROLE limited SET ${setting}`).join(';'))
    const limited = `name ~ '^(statement|lock|idle_in_transaction_session|transaction)_timeout$' AND setting <> '0'`
    const script = `CREATE TABLE "Limited" AS SELECT name FROM pg_settings WHERE ${limited}`
    const unlock = await lock()
    const steps: string[] = []
    const folder = migrationsWith({ '9_limited': script }, 'postgresql')
    const migrating = migrateDatabase(role.as(url), folder, (step) => steps.push(step))
    await Promise.race([migrating, until(() => steps.length > 1)])
    await unlock()
    expect(await migrating).toEqual({ applied: ['9_limited'] })
    expect(await query(url, 'SELECT * FROM "Limited"')).toEqual([])
    expect(steps).toEqual([
      'migrating the database; with many plants, this takes minutes',
      `${name} is being migrated by another process: waiting for it`,
      'applying the migration 9_limited, 1 of 1',
    ])
  })

  test('grants nothing to others by default, and takes nothing that was granted later', async () => {
    const { url, createEmpty } = await newPostgresqlDatabase()
    await createEmpty()
    const [anon, server] = [await newRole('anon'), await newRole('server')]
    const kinds = ['TABLES', 'SEQUENCES', 'FUNCTIONS']
    const defaults = kinds.map((kind) => `ALTER DEFAULT PRIVILEGES GRANT ALL ON ${kind} TO anon`)
    await runSql(url, `${defaults.join(';')}; CREATE TABLE spatial_ref_sys ()`)
    await migrateDatabase(url)
    const rights = readFileSync(path.join(packageFolder, '../docs/production/several-machines/rights.sql'), 'utf8')
    await runSql(url, rights.replaceAll('plant_store', 'server'))
    // Another program's table, and one that is built under another name.
    await runSql(url, 'CREATE TABLE "Pot_of_others" (); GRANT ALL ON "Pot_of_others" TO anon')
    const created = `CREATE TABLE new_pot (size SERIAL); ALTER TABLE new_pot RENAME TO "Pot";
      CREATE VIEW pots AS SELECT * FROM "Pot"; CREATE PROCEDURE grow() BEGIN ATOMIC END`
    await migrateDatabase(url, migrationsWith({ '90000101000000_pots': created }, 'postgresql'))
    const granted = await query<{ name: string }>(
      url,
      `SELECT relname AS name FROM pg_class, aclexplode(relacl) WHERE relnamespace = 'public'::regnamespace
         AND grantee IN (0, 'anon'::regrole)
       UNION SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
         AND has_function_privilege('anon', oid, 'EXECUTE') ORDER BY name`,
    )
    expect(granted).toEqual(['Pot_of_others', 'spatial_ref_sys'].map((name) => ({ name })))
    await (await openDatabase(server.as(url))).close()
    await expect(query(anon.as(url), 'SELECT * FROM "Token"')).rejects.toThrow('permission denied')
  })

  test('stays where it is when another schema comes to precede it in the search path', async () => {
    const { url } = await migrated(newPostgresqlDatabase())
    await runSql(url, `${INSERT}; CREATE SCHEMA "a b"; CREATE TABLE "a b"."Other" ()`)
    const preceded = `${url}?options=${encodeURIComponent('-c search_path="a\\ b",public')}`
    await (await openDatabase(preceded)).close()
    await migrateDatabase(preceded, withPots('postgresql'))
    expect(
      await query(url, `SELECT 1 FROM public."Plant", pg_tables WHERE tablename = 'Pot' AND schemaname = 'public'`),
    ).toHaveLength(1)
  })

  test('with an encoding that lacks characters is not migrated', async () => {
    const database = await newPostgresqlDatabase()
    const { pathname } = new URL(database.url)
    const options = `TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc`
    await runSql(database.url.replace(pathname, '/postgres'), `CREATE DATABASE ${pathname.slice(1)} ${options}`)
    await expectRejection(database, /has the encoding .*: create one with UTF8/)
  })
})
