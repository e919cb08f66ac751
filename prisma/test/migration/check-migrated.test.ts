import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { migrationsWith } from '../../../test/helpers/database/migrations.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { checkMigrated, migrateDatabase } from '../../src/index.ts'
import { contentsOf } from '../helpers/contents.ts'
import { runWhileLocked } from '../helpers/run-while-locked.ts'

test('a missing database is not created', async () => {
  const { file } = temporaryDatabase()
  const missing = path.join(path.dirname(file), 'folder', 'plants.db')
  await expect(checkMigrated(`file:${missing}`)).rejects.toThrow(
    `${missing} does not exist: run "plant-store migrate" to create it, or check DATABASE_URL`,
  )
  expect(contentsOf(path.dirname(file))).toEqual({})
})

test('a database that needs a migration is not migrated', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const before = contentsOf(path.dirname(file))
  await checkMigrated(url)
  const further = migrationsWith({ '90000101000000_pots': 'CREATE TABLE Pot (x);' })
  await expect(checkMigrated(url, further)).rejects.toThrow(
    `${file} needs the migrations 90000101000000_pots: run "plant-store migrate"`,
  )
  expect(contentsOf(path.dirname(file))).toEqual(before)
})

test.each([
  ['a file that is not a database', 'Dear diary. '.repeat(100), 'is not a SQLite database'],
  ['an empty file', '', 'needs the migrations'],
])('%s stays unchanged', async (_, content, reason) => {
  const { file, url } = temporaryDatabase()
  writeFileSync(file, content)
  const before = contentsOf(path.dirname(file))
  await expect(checkMigrated(url)).rejects.toThrow(`${file} ${reason}`)
  expect(contentsOf(path.dirname(file))).toEqual(before)
})

test('a check waits for another process that has locked the file', async () => {
  // Before the file is in WAL mode, this locks readers out too.
  await runWhileLocked('BEGIN EXCLUSIVE', checkMigrated)
})
