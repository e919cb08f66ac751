import { existsSync, statSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { connect, query } from '../../../test/helpers/database/databases.ts'
import { migrationsWith } from '../../../test/helpers/database/migrations.ts'
import { migrateDatabase, openDatabase, StorageError } from '../../src/index.ts'
import { loadEngine } from '../../src/open-database.ts'
import { toQuery } from '../../src/prisma-client.ts'
import { startThread } from '../../src/sqlite/writer.ts'
import { newMigrated, openNewClient } from '../helpers/open-client.ts'
import { run } from '../helpers/run.ts'

/** Takes a second or more. */
const LONG = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 500000000) SELECT count(*) FROM c'

test('what writes has the settings that durability needs, and what reads cannot write', async () => {
  const { file, url, prisma } = await openNewClient()
  const { run, close } = startThread(file)
  await run('open', file)
  const settings = toQuery('SELECT * FROM pragma_journal_mode, pragma_synchronous, pragma_foreign_keys')
  expect(await run('queryRaw', settings)).toMatchObject({ rows: [['wal', 2, 1]] })
  await close()
  expect(await prisma.$queryRawUnsafe('SELECT * FROM pragma_journal_mode')).toEqual([{ journal_mode: 'wal' }])
  const reading = await (await loadEngine(url)).beginReading()
  await expect(reading.connection.executeRaw(toQuery('DELETE FROM "Plant"'))).rejects.toThrow('is read-only')
  await reading.close()
})

test('a database whose disk does not support these settings is rejected', async () => {
  const thread = startThread('/srv/plants.db')
  onTestFinished(thread.stop)
  await expect(thread.run('open', ':memory:')).rejects.toThrow(
    new StorageError(':memory: does not support journal_mode=WAL and synchronous=FULL: put it on a local disk'),
  )
})

test('the write-ahead log shrinks after a reader that has held it open', async () => {
  const { url, file } = await newMigrated()
  const { plants, close } = await openDatabase(url, { patience: 60_000 })
  onTestFinished(close)
  const insert = (id: number, name: string) => plants.insert([{ account: 'alice', id: String(id), name, tag: null }])

  const reader = connect(file)
  reader.exec('BEGIN; SELECT 1 FROM "Plant"')
  const large = 'x'.repeat(16_000_000)
  for (let id = 1; id <= 5; id++) await insert(id, large)
  const logSize = () => statSync(`${file}-wal`).size
  expect(logSize()).toBeGreaterThan(80e6)
  reader.exec('COMMIT')
  // The first write moves the log back into the file, the second starts it again.
  for (let id = 6; id <= 7; id++) await insert(id, 'Monstera')
  expect(logSize()).toBeLessThanOrEqual(64e6)
})

test('what is migrated while it is open stays usable, and the last to close it leaves no log next to it', async () => {
  const { prisma, url, file, close } = await openNewClient()
  const data = { account: 'alice', id: '1', name: 'Monstera' }
  await prisma.plant.create({ data })
  await migrateDatabase(url, migrationsWith({ '90000101000000_pots': 'CREATE TABLE Pot (x);' }))
  await prisma.plant.create({ data: { ...data, id: '2' } })
  expect(await prisma.$queryRaw`SELECT * FROM Pot`).toEqual([])
  const other = connect(file)
  expect(other.prepare('SELECT count(*) FROM Plant').pluck().get()).toBe(2)
  await close()
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(0)
  other.close()
  expect(existsSync(`${file}-wal`)).toBe(false)
  expect(await query(url, 'SELECT id FROM Plant')).toEqual([{ id: '1' }, { id: '2' }])
})

test.each([
  ['a statement', `await thread.run('open', file); thread.run('executeScript', \`${LONG}\`)`],
  ['a backup', `const { backupDatabase } = await import(index); backupDatabase(url, copy).catch(() => {})`],
])('a process that ends during %s waits for it a second at most', async (what, begin) => {
  const { file, url } = await newMigrated()
  const dist = new URL('../../dist/', import.meta.url)
  const script = `
    const [file, url, copy, index] = ${JSON.stringify([file, url, `${file}-copy`, `${dist}index.js`])}
    const thread = (await import('${dist}sqlite/writer.js')).startThread(file)
    ${begin}
    setTimeout(() => process.exit(0), 20)`
  const begun = performance.now()
  const { code } = await run(process.execPath, ['--input-type=module', '--eval', script])
  expect(performance.now() - begun).toBeLessThan(20_000)
  if (what === 'a statement') expect(code).not.toBe(0)
})
