import { readdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { migrationsWith, onlyMigrations } from '../../../test/helpers/database/migrations.ts'
import { checkMigrated, DatabaseError, migrateDatabase } from '../../src/index.ts'
import { engines, type TestDatabase } from '../helpers/engines.ts'
import { runScript } from '../helpers/run.ts'

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

async function migrateInProcesses(count: number, url: string, ...folder: string[]): Promise<string[][]> {
  const finished = await Promise.all(Array.from({ length: count }, () => runScript('migrate.ts', [url, ...folder])))
  return finished.map(({ stdout, stderr }) => {
    expect(stderr).toBe('')
    return (JSON.parse(stdout) as { applied: string[] }).applied
  })
}

const INSERT = `INSERT INTO "Plant" ("account", "id", "name") VALUES ('alice', '1', 'Monstera')`

describe.each(engines)('on $engine', ({ engine, newDatabase }) => {
  const withPots = (columns: string) =>
    migrationsWith({ '90000101000000_pots': `CREATE TABLE "Pot" (${columns});` }, engine)

  const POTS = 'size INTEGER'
  test.each<[what: string, change: string | undefined, message: RegExp, columns?: string]>([
    [
      'of a newer version',
      undefined,
      /written by a newer version, which added the migration 90000101000000_pots: start/,
    ],
    [
      'with another text',
      undefined,
      /migrated with a different version of 90000101000000_pots: restore/,
      'height TEXT',
    ],
    [
      'whose migration was interrupted',
      `UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name <> '90000101000000_pots'`,
      /incomplete because the migration \d+_initial was interrupted: restore a backup/,
      POTS,
    ],
  ])('a database %s is rejected', async (_what, change, message, columns) => {
    const database = await newDatabase()
    await migrateDatabase(database.url, withPots(POTS))
    if (change) await database.run(change)
    await expectRejection(database, message, columns && withPots(columns))
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

  test('a failing migration of an empty database leaves no table', async () => {
    const database = await newDatabase()
    await database.createEmpty()
    const failing = onlyMigrations({
      '1_good': 'CREATE TABLE "Good" (size INTEGER);',
      '2_bad': 'CREATE TABLE "B" (size INTEGER); CREATE TABEL "C";',
    })
    await expectRejection(
      database,
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

  test('migrating waits for another process, and a newer version that migrates first wins', async () => {
    const { url, query, lock } = await newDatabase()
    await migrateDatabase(url)
    const unlock = await lock()
    const migrating = migrateDatabase(url, withPots('size INTEGER'))
    // The check before the lock finds something pending.
    expect(await Promise.race([migrating, sleep(500, 'waiting')])).toBe('waiting')
    await unlock(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('1', '1', '9_newer', CURRENT_TIMESTAMP)`,
    )
    await expect(migrating).rejects.toThrow('written by a newer version, which added the migration 9_newer')
    await expect(query('SELECT * FROM "Pot"')).rejects.toThrow()
  })

  test('of processes that create a database, and of those that migrate it, at the same time, one does', async () => {
    const { url, name, query } = await newDatabase()
    const created = await migrateInProcesses(3, url)
    expect(created.filter((names) => names.length > 0)).toHaveLength(1)
    expect(await query('SELECT migration_name FROM _prisma_migrations')).toHaveLength(created.flat().length)
    expect((await migrateInProcesses(3, url, withPots('size INTEGER'))).flat()).toEqual(['90000101000000_pots'])
    if (engine !== 'sqlite') return
    expect(readdirSync(path.dirname(name))).toEqual([path.basename(name)])
    expect(await query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
  })
})
