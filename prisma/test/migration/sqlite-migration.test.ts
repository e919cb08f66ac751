/** What only a SQLite file can do to a migration. */
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { migrationsWith } from '../../../test/helpers/database/migrations.ts'
import { query, runSql } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { checkMigrated, DatabaseError, migrateDatabase } from '../../src/index.ts'
import { migrationsFolders } from '../../src/migration/migrations.ts'
import { contentsOf } from '../helpers/contents.ts'
import { runScript } from '../helpers/run.ts'

test.each([false, true])(
  'a new database, made of an empty file: %s, is alone in its folder and only its owner may read it',
  async (isEmpty) => {
    const { file, url } = temporaryDatabase()
    if (isEmpty) writeFileSync(file, '', { mode: 0o600 })
    await migrateDatabase(url)
    expect(readdirSync(path.dirname(file))).toEqual([path.basename(file)])
    if (process.platform !== 'win32') expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
    // With nothing pending, the schema engine is not loaded.
    const { stdout } = await runScript('migrate.ts', [url])
    expect(JSON.parse(stdout)).toEqual({ applied: [], engineLoaded: false })
  },
)

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

test('the order of creation is SQLite’s rowid and is never reused', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const insert = `INSERT INTO Plant (account, id, name) VALUES ('alice', '1', 'Monstera');`
  runSql(file, `${insert} DELETE FROM Plant; ${insert}`)
  expect(query(file, 'SELECT seq, rowid AS row FROM Plant')).toEqual([{ seq: 2, row: 2 }])
})

const OTHER_USER = 65534
const isRoot = process.getuid?.() === 0

/** Expects that migrating fails with this one line and changes nothing on disk. */
async function expectRejection(file: string, message: RegExp, folder?: string): Promise<void> {
  const before = contentsOf(path.dirname(file))
  const error = await migrateDatabase(`file:${file}`, folder).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(DatabaseError)
  expect(error).toMatchObject({ name: 'DatabaseError', message: expect.stringMatching(message) })
  expect((error as Error).message).toContain(file)
  expect((error as Error).message).not.toContain('\n')
  expect(contentsOf(path.dirname(file))).toEqual(before)
}

test.each([
  [
    'a file that is not a database',
    'plants.db',
    /is not a SQLite database: point DATABASE_URL at another file/,
    (file: string) => writeFileSync(file, 'Dear diary, today I watered the Monstera. '.repeat(100)),
  ],
  [
    'a folder in place of the file',
    'plants.db',
    /cannot be opened: it must be a file/,
    (file: string) => void mkdirSync(file),
  ],
  [
    'a file in place of the folder',
    'data/plants.db',
    /cannot be opened/,
    (file: string) => writeFileSync(path.dirname(file), ''),
  ],
])('%s is rejected', async (_what, name, message, create) => {
  const file = path.join(temporaryFolder(), name)
  create(file)
  await expectRejection(file, message)
  const unfound = name === 'plants.db' ? message : `${file} does not exist`
  await expect(checkMigrated(`file:${file}`)).rejects.toThrow(unfound)
})

test('a migration that leaves rows referring to nothing is rejected', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const breaking = migrationsWith({
    '9_leaf': 'CREATE TABLE Leaf (plant INTEGER REFERENCES Plant (seq)); INSERT INTO Leaf VALUES (7);',
  })
  await expectRejection(file, /rows of Leaf would refer to missing rows/, breaking)
})

test.skipIf(process.platform === 'win32').each([
  ['a file that may not be read', 0o200, 0o700],
  ['a file that may not be written', 0o400, 0o700],
  ['a folder that may not be written', 0o600, 0o500],
  ['a folder that may not be entered', 0o600, 0o000],
])('%s is rejected', async (_, fileMode, folderMode) => {
  const folder = path.join(temporaryFolder(), 'data')
  mkdirSync(folder)
  const file = path.join(folder, 'plants.db')
  await migrateDatabase(`file:${file}`)
  chmodSync(path.dirname(folder), 0o755)
  chmodSync(file, fileMode)
  // Root may do anything, so another user has to try.
  if (isRoot) for (const each of [file, folder]) chownSync(each, OTHER_USER, OTHER_USER)
  chmodSync(folder, folderMode)
  const before = isRoot ? contentsOf(folder) : undefined

  // This repository may be where that user may not read it.
  const migrations = path.join(path.dirname(folder), 'migrations')
  cpSync(migrationsFolders.sqlite, migrations, { recursive: true })
  const { stdout } = await runScript('migrate.ts', [`file:${file}`, migrations], {
    env: { ...process.env, ...(isRoot && { RUN_AS_USER: String(OTHER_USER) }) },
  })
  chmodSync(folder, 0o700)
  expect(JSON.parse(stdout)).toMatchObject({
    name: 'DatabaseError',
    message: `${file} cannot be opened: it must be a file that this user may read and write, in a folder that this user may write to`,
  })
  if (before) expect(contentsOf(folder)).toEqual(before)
})
