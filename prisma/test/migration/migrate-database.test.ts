import { existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { migrationsWith } from '../../../test/helpers/database/migrations.ts'
import { query, runSql } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { migrateDatabase } from '../../src/index.ts'
import { migrationsFolders } from '../../src/migration/migrations.ts'
import { runPrisma, runScript } from '../helpers/run.ts'

const ours = readdirSync(migrationsFolders.sqlite).filter((name) => !name.endsWith('.toml'))

test('a new database gets all migrations, and Prisma agrees that it is up to date', async () => {
  const { file, url } = temporaryDatabase()
  expect(await migrateDatabase(url)).toEqual({ applied: ours })

  expect(query(file, 'SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL')).toEqual(
    ours.map((name) => ({ migration_name: name })),
  )
  const status = await runPrisma(['migrate', 'status'], url)
  expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining('Database schema is up to date!') })
})

test('a second migration applies nothing, and does not load the schema engine', async () => {
  const { url } = temporaryDatabase()
  await migrateDatabase(url)

  expect(await migrateDatabase(url)).toEqual({ applied: [] })
  const { stdout } = await runScript('migrate.ts', [url])
  expect(JSON.parse(stdout)).toEqual({ applied: [], engineLoaded: false })
})

test('only new migrations are applied to a database with plants, which stay', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  runSql(file, `INSERT INTO Plant (account, id, name) VALUES ('alice', '1', 'Monstera')`)

  const folder = migrationsWith({ '90000101000000_pots': 'CREATE TABLE Pot (size INTEGER);' })
  expect(await migrateDatabase(url, folder)).toEqual({ applied: ['90000101000000_pots'] })
  expect(query(file, 'SELECT name FROM Plant')).toEqual([{ name: 'Monstera' }])
  expect(query(file, 'SELECT * FROM Pot')).toEqual([])
})

test('a migration that replaces a table keeps the rows that refer to it', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  runSql(
    file,
    `INSERT INTO Plant (account, id, name) VALUES ('alice', '1', 'Monstera');
     CREATE TABLE Leaf (plant INTEGER REFERENCES Plant (seq) ON DELETE CASCADE);
     INSERT INTO Leaf VALUES (1)`,
  )

  const folder = migrationsWith({
    '90000101000000_colour': `
      PRAGMA foreign_keys=OFF;
      CREATE TABLE new_Plant (seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account TEXT, id TEXT, name TEXT, colour TEXT);
      INSERT INTO new_Plant (seq, account, id, name) SELECT seq, account, id, name FROM Plant;
      DROP TABLE Plant;
      ALTER TABLE new_Plant RENAME TO Plant;
      PRAGMA foreign_keys=ON;`,
  })
  await migrateDatabase(url, folder)
  expect(query(file, 'SELECT plant FROM Leaf')).toEqual([{ plant: 1 }])
})

test('line endings do not change a migration', async () => {
  const { url } = temporaryDatabase()
  await migrateDatabase(url, migrationsWith({ '90000101000000_pots': 'CREATE TABLE Pot\n(size INTEGER);\n' }))
  const windows = migrationsWith({ '90000101000000_pots': 'CREATE TABLE Pot\r\n(size INTEGER);\r\n' })
  expect(await migrateDatabase(url, windows)).toEqual({ applied: [] })
})

test('nothing is left next to a new database', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  expect(readdirSync(path.dirname(file))).toEqual(['plants.db'])
})

test.skipIf(process.platform === 'win32')('only the owner may read a new database', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
})

test('an empty file is migrated like a new database', async () => {
  const { file, url } = temporaryDatabase()
  runSql(file, '')
  expect(existsSync(path.dirname(file))).toBe(true)
  expect(await migrateDatabase(url)).toEqual({ applied: ours })
})

test('the migrations match the schema', async () => {
  const comparison = ['--from-migrations', 'migrations', '--to-schema', 'schema.prisma', '--exit-code']
  const { code, stdout } = await runPrisma(['migrate', 'diff', ...comparison], temporaryDatabase().url)
  expect(stdout).toContain('No difference detected')
  expect(code).toBe(0)
})

test('the order of creation is SQLite’s rowid and is never reused', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const insert = `INSERT INTO Plant (account, id, name) VALUES ('alice', '1', 'Monstera');`
  runSql(file, `${insert} DELETE FROM Plant; ${insert}`)
  expect(query(file, 'SELECT seq, rowid AS row FROM Plant')).toEqual([{ seq: 2, row: 2 }])
})
