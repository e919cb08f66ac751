import { readdirSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { migrationsWith } from '../../../test/helpers/database/migrations.ts'
import { connect, query } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { migrateDatabase } from '../../src/index.ts'
import { runScript } from '../helpers/run.ts'
import { runWhileLocked } from '../helpers/run-while-locked.ts'

test('processes that create the same file at the same time leave it whole, and nothing next to it', async () => {
  const { file, url } = temporaryDatabase()
  await Promise.all([runScript('migrate.ts', [url]), runScript('migrate.ts', [url])])
  expect(readdirSync(path.dirname(file))).toEqual([path.basename(file)])
  expect(query(file, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
})

test('migrating waits for another process that writes, without blocking the event loop', async () => {
  const folder = migrationsWith({ '90000101000000_pots': 'CREATE TABLE Pot (x);' })
  const migrated = await runWhileLocked('BEGIN IMMEDIATE', (url) => migrateDatabase(url, folder))
  expect(migrated).toEqual({ applied: ['90000101000000_pots'] })
})

test('a newer version that migrates first wins', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const newer = connect(file)
  newer.exec('BEGIN IMMEDIATE')
  const migrating = migrateDatabase(url, migrationsWith({ '90000101000000_pots': 'CREATE TABLE Pot (x);' }))
  newer.exec(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('1', '1', '9_newer', 0)`,
  )
  const rejected = expect(migrating).rejects.toThrow('written by a newer version, which added the migration 9_newer')
  // The check before the lock finds something pending.
  await new Promise((resolve) => setTimeout(resolve, 100))
  newer.exec('COMMIT')

  await rejected
  expect(query(file, `SELECT name FROM sqlite_schema WHERE name = 'Pot'`)).toEqual([])
})
