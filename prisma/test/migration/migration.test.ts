import { describe, expect, test, vi } from 'vitest'
import { migrationsWith, onlyMigrations } from '../../../test/helpers/database/migrations.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { checkMigrated, DatabaseError, migrateDatabase } from '../../src/index.ts'
import { engines, type TestDatabase } from '../helpers/engines.ts'
import { runScript } from '../helpers/run.ts'

if (!isLong)
  console.log('prisma/test/migration/migration.test.ts runs in part: PLANT_STORE_LONG_TESTS=1 runs all of it')

// Each process compiles the sources, for seconds on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

/** Expects that migrating fails with this one line and changes nothing. */
async function expectRejection(database: TestDatabase, message: RegExp, folder?: string): Promise<void> {
  const before = await database.contents()
  const error = await migrateDatabase(database.url, folder).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(DatabaseError)
  expect(error).toMatchObject({ name: 'DatabaseError', message: expect.stringMatching(message) })
  expect((error as Error).message).toContain(database.name)
  expect((error as Error).message).not.toContain('\n')
  expect(await database.contents()).toEqual(before)
}

async function migrateInProcesses(count: number, url: string, folder: string): Promise<string[][]> {
  const finished = await Promise.all(Array.from({ length: count }, () => runScript('migrate.ts', [url, folder])))
  return finished.map(({ stdout, stderr }) => {
    expect(stderr).toBe('')
    return (JSON.parse(stdout) as { applied: string[] }).applied
  })
}

const INSERT = `INSERT INTO "Plant" ("account", "id", "name") VALUES ('alice', '1', 'Monstera')`

describe.each(engines)('on $engine', ({ engine, newDatabase }) => {
  const withPots = (columns: string) =>
    migrationsWith({ '90000101000000_pots': `CREATE TABLE "Pot" (${columns});` }, engine)

  test('a database of a newer version is rejected', async () => {
    const database = await newDatabase()
    await migrateDatabase(database.url, withPots('size INTEGER'))
    await expectRejection(
      database,
      /written by a newer version, which added the migration 90000101000000_pots: start that/,
    )
  })

  test('a database that was migrated with another text of a migration is rejected', async () => {
    const database = await newDatabase()
    await migrateDatabase(database.url, withPots('size INTEGER'))
    const changed = withPots('height INTEGER')
    await expectRejection(database, /migrated with a different version of 90000101000000_pots: restore/, changed)
  })

  test('a database whose migration was interrupted is rejected', async () => {
    const database = await newDatabase()
    await migrateDatabase(database.url)
    await database.run('UPDATE _prisma_migrations SET finished_at = NULL')
    await expectRejection(database, /incomplete because the migration \d+_initial was interrupted: restore a backup/)
  })

  test('a migration that was rolled back is applied again', async () => {
    const database = await newDatabase()
    const folder = onlyMigrations({ '1_pots': 'CREATE TABLE "Pot" (size INTEGER);' })
    await migrateDatabase(database.url, folder)
    await database.run('UPDATE _prisma_migrations SET finished_at = NULL, rolled_back_at = started_at')
    await database.run('DROP TABLE "Pot"')
    expect(await migrateDatabase(database.url, folder)).toEqual({ applied: ['1_pots'] })
  })

  test('the database of another program is rejected', async () => {
    const database = await newDatabase()
    await database.createEmpty()
    await database.run('CREATE TABLE bookmarks (url TEXT)')
    await expectRejection(database, /belongs to another program.*point DATABASE_URL at another database/)
  })

  test('a failing migration of a new database leaves no table', async () => {
    const failing = onlyMigrations({
      '1_good': 'CREATE TABLE "Good" (size INTEGER);',
      '2_bad': 'CREATE TABLE "B" (size INTEGER); CREATE TABEL "C";',
    })
    await expectRejection(
      await newDatabase(),
      /was not migrated and is unchanged: the migration 2_bad failed with: .*syntax error/,
      failing,
    )
  })

  test('a failing migration of a database with plants undoes the ones before it', async () => {
    const database = await newDatabase()
    await migrateDatabase(database.url)
    await database.run(INSERT)
    const scripts = { '9_good': 'DELETE FROM "Plant";', '9_worse': 'INSERT INTO "Nowhere" VALUES (1);' }
    await expectRejection(database, /the migration 9_worse failed with: .*Nowhere/, migrationsWith(scripts, engine))
  })

  test('only new migrations are applied to a database with plants, which stay, and once', async () => {
    const database = await newDatabase()
    expect(await migrateDatabase(database.url)).toEqual({ applied: [expect.stringMatching(/_initial$/)] })
    expect(await migrateDatabase(database.url)).toEqual({ applied: [] })
    await database.run(INSERT)
    expect(await migrateDatabase(database.url, withPots('size INTEGER'))).toEqual({ applied: ['90000101000000_pots'] })
    expect(await database.query('SELECT "name" FROM "Plant"')).toEqual([{ name: 'Monstera' }])
    expect(await database.query('SELECT * FROM "Pot"')).toEqual([])
  })

  test('a check changes nothing', async () => {
    const { url, name, createEmpty, contents } = await newDatabase()
    const missing = await contents()
    await expect(checkMigrated(url)).rejects.toThrow(`${name} does not exist: run "plant-store migrate" to create it`)
    expect(await contents()).toEqual(missing)
    await createEmpty()
    const empty = await contents()
    await expect(checkMigrated(url)).rejects.toThrow(/ needs the migrations \d+_initial: run "plant-store migrate"$/)
    expect(await contents()).toEqual(empty)

    await migrateDatabase(url)
    const migrated = await contents()
    await checkMigrated(url)
    await expect(checkMigrated(url, withPots('size INTEGER'))).rejects.toThrow(
      `${name} needs the migrations 90000101000000_pots: run "plant-store migrate"`,
    )
    expect(await contents()).toEqual(migrated)
  })

  const distinct = 'SELECT DISTINCT migration_name FROM _prisma_migrations'

  test.runIf(isLong)('of processes that create the same database at the same time, one creates it', async () => {
    const { url, query } = await newDatabase()
    const applied = await migrateInProcesses(3, url, withPots('size INTEGER'))

    expect(applied.filter((names) => names.length > 0)).toHaveLength(1)
    expect(await query('SELECT migration_name FROM _prisma_migrations')).toHaveLength((await query(distinct)).length)
  })

  test('of processes that migrate the same database at the same time, one migrates it', async () => {
    const { url } = await newDatabase()
    await migrateDatabase(url)
    const applied = await migrateInProcesses(3, url, withPots('size INTEGER'))
    expect(applied.flat()).toEqual(['90000101000000_pots'])
  })

  test('of ten calls in one process, one migrates', async () => {
    const { url, query } = await newDatabase()
    const all = await Promise.all(Array.from({ length: 10 }, () => migrateDatabase(url)))
    expect(all.filter(({ applied }) => applied.length > 0)).toHaveLength(1)
    expect(await query('SELECT migration_name FROM _prisma_migrations')).toHaveLength((await query(distinct)).length)
  })
})
