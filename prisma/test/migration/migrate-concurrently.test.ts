import { readdirSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { migrationsWith } from '../../../test/helpers/database/migrations.ts'
import { connect, query } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { migrateDatabase } from '../../src/index.ts'
import { runScript } from '../helpers/run.ts'
import { runWhileLocked } from '../helpers/run-while-locked.ts'

const APPLIED_TWICE = 'SELECT count(*) - count(DISTINCT migration_name) AS rows FROM _prisma_migrations'

async function migrateInProcesses(count: number, url: string, folder: string): Promise<string[][]> {
  const finished = await Promise.all(Array.from({ length: count }, () => runScript('migrate.ts', [url, folder])))
  return finished.map(({ stdout, stderr }) => {
    expect(stderr).toBe('')
    return (JSON.parse(stdout) as { applied: string[] }).applied
  })
}

test('of processes that create the same database at the same time, one creates it', async () => {
  const { file, url } = temporaryDatabase()
  const folder = migrationsWith({ '90000101000000_pots': 'CREATE TABLE Pot (x);' })
  const applied = await migrateInProcesses(3, url, folder)

  expect(applied.flat().filter((name) => name.endsWith('_pots'))).toHaveLength(1)
  expect(readdirSync(path.dirname(file))).toEqual([path.basename(file)])
  expect(query(file, APPLIED_TWICE)).toEqual([{ rows: 0 }])
  expect(query(file, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
})

test('of processes that migrate the same database at the same time, one migrates it', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const folder = migrationsWith({ '90000101000000_pots': 'CREATE TABLE Pot (x);' })
  const applied = await migrateInProcesses(3, url, folder)

  expect(applied.flat()).toEqual(['90000101000000_pots'])
  expect(query(file, APPLIED_TWICE)).toEqual([{ rows: 0 }])
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

test('two calls in one process do not interfere', async () => {
  const { url } = temporaryDatabase()
  const both = await Promise.all([migrateDatabase(url), migrateDatabase(url)])
  expect(both.filter(({ applied }) => applied.length > 0)).toHaveLength(1)
})
