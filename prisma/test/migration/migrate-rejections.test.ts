import { describe, expect, test } from 'vitest'
import { migrationsWith, onlyMigrations } from '../../../test/helpers/database/migrations.ts'
import { DatabaseError, migrateDatabase } from '../../src/index.ts'
import { engines, type TestDatabase } from '../helpers/engines.ts'

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
})
