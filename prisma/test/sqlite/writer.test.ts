import { existsSync, statSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { migrationsWith } from '../../../test/helpers/database/migrations.ts'
import { connect, query } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { checkMigrated, migrateDatabase, openDatabase, StorageError } from '../../src/index.ts'
import { loadEngine } from '../../src/open-database.ts'
import { toQuery } from '../../src/prisma-client.ts'
import { startThread } from '../../src/sqlite/writer.ts'
import { newMigrated, openNewClient } from '../helpers/open-client.ts'
import { run } from '../helpers/run.ts'

/** Takes a second or more. */
const LONG = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5000000) SELECT count(*) FROM c'

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
  const { plants, state, close } = await openDatabase(url, { patience: 60_000 })
  onTestFinished(close)
  const insert = (id: number, name: string) => plants.insert([{ account: 'alice', id: String(id), name, tag: null }])

  const reader = connect(file)
  reader.exec('BEGIN; SELECT 1 FROM "Plant"')
  const large = 'x'.repeat(16_000_000)
  for (let id = 1; id <= 5; id++) await insert(id, large)
  expect((await state()).logSize).toBeGreaterThan(80e6)
  reader.exec('COMMIT')
  // The first write moves the log back into the file, the second starts it again.
  for (let id = 6; id <= 7; id++) await insert(id, 'Monstera')
  expect((await state()).logSize).toBeLessThanOrEqual(64e6)
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
  expect(query(file, 'SELECT id FROM Plant')).toEqual([{ id: '1' }, { id: '2' }])
})

test('a migration waits for a lock from its first statement on', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url, migrationsWith({ '1': 'CREATE TABLE Pot (x);' }, 'none'))
  const other = connect(file)
  other.exec('BEGIN IMMEDIATE')
  const migrations = { '1': 'CREATE TABLE Pot (x);', '2': 'CREATE TABLE Soil (x);' }
  const migrating = migrateDatabase(url, migrationsWith(migrations, 'none'))
  await new Promise((resolve) => setTimeout(resolve, 300))
  other.exec('ROLLBACK')
  expect(await migrating).toEqual({ applied: ['2'] })
})

test('while the thread writes, the event loop is free, and reads go on', async () => {
  const { prisma } = await openNewClient()
  let turns = 0
  const timer = setInterval(() => turns++, 5)
  const writing = prisma.$executeRawUnsafe(`INSERT INTO "Secret" SELECT 'slow', (${LONG})`)
  expect(await prisma.plant.count()).toBe(0)
  await writing
  clearInterval(timer)
  expect(turns).toBeGreaterThan(10)
})

test('a thread that has ended is started again by the next write, and what it was doing fails', async () => {
  const workers: Worker[] = []
  const emit = Worker.prototype.emit
  // The library has no name for its thread: any worker that reports something is taken.
  Worker.prototype.emit = function (this: Worker, ...args: Parameters<typeof emit>) {
    workers.push(this)
    return emit.apply(this, args)
  }
  onTestFinished(() => void Object.assign(Worker.prototype, { emit }))
  const { prisma } = await openNewClient()
  await prisma.secret.create({ data: { name: 'first', value: '1' } })
  const lost = prisma.$executeRawUnsafe(`INSERT INTO "Secret" SELECT 'lost', (${LONG})`).catch((error) => error)
  for (const worker of new Set(workers)) void worker.terminate()
  expect(await lost).toMatchObject({ name: 'StorageError', fault: 'unavailable', retryAfter: 5 })
  await prisma.secret.create({ data: { name: 'second', value: '2' } })
  const stored = await prisma.secret.findMany({ select: { name: true }, where: { name: { not: 'lost' } } })
  expect(stored).toEqual([{ name: 'first' }, { name: 'second' }])
})

test.each([
  ['a statement', `await thread.run('open', file); thread.run('executeScript', \`${LONG}\`)`],
  [
    'a backup',
    `const { backupDatabase } = await import(index); backupDatabase(url, copy, { signal: aborted }).catch(() => {})`,
  ],
])('a process that ends during %s does not wait for it', async (what, begin) => {
  const { file, url } = await newMigrated()
  const dist = new URL('../../dist/', import.meta.url)
  const script = `
    const [file, url, copy, index] = ${JSON.stringify([file, url, `${file}-copy`, `${dist}index.js`])}
    const aborted = AbortSignal.timeout(60_000)
    const thread = (await import('${dist}sqlite/writer.js')).startThread(file)
    ${begin}
    setTimeout(() => process.exit(0), 20)`
  const begun = performance.now()
  const { code } = await run(process.execPath, ['--input-type=module', '--eval', script])
  expect(performance.now() - begun).toBeLessThan(20_000)
  if (what === 'a statement') expect(code).not.toBe(0)
})

test('checking a database that is migrated changes nothing', async () => {
  const { file, url } = await newMigrated()
  const before = statSync(file).mtimeMs
  await checkMigrated(url)
  expect(statSync(file).mtimeMs).toBe(before)
})
