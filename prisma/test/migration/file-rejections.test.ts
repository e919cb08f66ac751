import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { migrationsWith, onlyMigrations } from '../../../test/helpers/database/migrations.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { DatabaseError, migrateDatabase } from '../../src/index.ts'
import { migrationsFolders } from '../../src/migration/migrations.ts'
import { contentsOf } from '../helpers/contents.ts'
import { runScript } from '../helpers/run.ts'

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

test('a file that is not a database is rejected', async () => {
  const { file } = temporaryDatabase()
  writeFileSync(file, 'Dear diary, today I watered the Monstera. '.repeat(100))
  await expectRejection(file, /is not a SQLite database: point DATABASE_URL at another file/)
})

test('a folder in place of the file is rejected', async () => {
  const folder = temporaryFolder()
  mkdirSync(`${folder}/plants.db`)
  await expectRejection(`${folder}/plants.db`, /cannot be opened: it must be a file/)
})

test('a file in place of the folder is rejected', async () => {
  const folder = temporaryFolder()
  writeFileSync(`${folder}/data`, '')
  await expectRejection(`${folder}/data/plants.db`, /cannot be opened/)
})

test('a missing folder is not created, since its disk may not be mounted', async () => {
  const folder = path.join(temporaryFolder(), 'not', 'mounted')
  await expect(migrateDatabase(`file:${folder}/plants.db`)).rejects.toThrow(
    new DatabaseError(`${folder} does not exist: create this folder, mount its disk, or check DATABASE_URL`),
  )
  expect(existsSync(path.dirname(folder))).toBe(false)
})

test('a failing migration of a new database leaves nothing', async () => {
  const failing = onlyMigrations({ '1_good': 'CREATE TABLE Good (x);', '2_bad': 'CREATE TABLE B (x); CREATE TABEL C;' })
  await expectRejection(
    temporaryDatabase().file,
    /was not migrated and is unchanged: the migration 2_bad failed with: near "TABEL": syntax error$/,
    failing,
  )
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
