import { statSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { connect, runSql } from '../../../test/helpers/database/databases.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary.ts'
import { loadEngine } from '../../src/address.ts'
import { openDatabase } from '../../src/database.ts'
import { StorageError } from '../../src/index.ts'
import { openWriter } from '../../src/sqlite/writer.ts'
import { newMigrated, openNewClient } from '../helpers/open-client.ts'

test('what writes has the settings that durability needs, and what reads cannot write', async () => {
  const { file, url, prisma } = await openNewClient()
  const { send, close } = await openWriter(file)
  const settings = await send('run', 'SELECT * FROM pragma_journal_mode, pragma_synchronous, pragma_foreign_keys')
  expect(settings.rows).toEqual([['wal', 2n, 1n]])
  await close()
  expect(await prisma.$queryRawUnsafe('SELECT * FROM pragma_journal_mode')).toEqual([{ journal_mode: 'wal' }])
  expect(await prisma.$queryRawUnsafe(`SELECT '$10' AS price WHERE ? = 1`, 1)).toEqual([{ price: '$10' }])
  const reading = await (await loadEngine(url)).beginReading()
  await expect(reading.query('DELETE FROM "Plant"')).rejects.toThrow('is read-only')
  await reading[Symbol.asyncDispose]()
})

test('a database in another encoding, or whose disk does not support these settings, is rejected', async () => {
  const { file } = temporaryDatabase()
  connect(file).exec(`PRAGMA encoding = 'UTF-16le'; CREATE TABLE "Garden" ("name" TEXT)`)
  await expect(openWriter(file)).rejects.toThrow(`${file} is in UTF-16le: copy it to one in UTF-8`)
  await expect(openWriter(':memory:')).rejects.toThrow(
    new StorageError(':memory: does not support journal_mode=WAL and synchronous=FULL: put it on a local disk'),
  )
})

test('the write-ahead log shrinks after a reader that has held it open', async () => {
  const { url, file } = await newMigrated()
  const { plants, close } = await openDatabase(url, 60_000)
  onTestFinished(close)
  const insert = (id: number) => plants.create([{ account: 'alice', id: String(id), name: 'Monstera', tag: null }])

  const reader = connect(file)
  reader.exec('BEGIN; SELECT 1 FROM "Plant"')
  await runSql(url, `INSERT INTO "Plant" ("account", "id", "name") VALUES ('alice', '1', hex(zeroblob(40000000)))`)
  const logSize = () => statSync(`${file}-wal`).size
  expect(logSize()).toBeGreaterThan(80e6)
  reader.exec('COMMIT')
  // The first write moves the log back into the file, the second starts it again.
  for (const id of [6, 7]) await insert(id)
  expect(logSize()).toBeLessThanOrEqual(64e6)
})
