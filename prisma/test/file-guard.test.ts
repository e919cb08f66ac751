import { existsSync, renameSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { query } from '../../test/helpers/database/sqlite.ts'
import { temporaryDatabase } from '../../test/helpers/temporary-folder.ts'
import { type Database, migrateDatabase, openDatabase } from '../src/index.ts'

async function openNewDatabase(): Promise<Database & { file: string; write(id: string): Promise<number> }> {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const database = await openDatabase(url)
  onTestFinished(() => database.close())
  const insert = `INSERT INTO "Plant" ("account", "id", "name", "createdAt") VALUES ('alice', ?, 'Ficus', '2026-01-01')`
  return { ...database, file, write: (id) => database.sql.execute(insert, id) }
}

const moved = { cause: { originalCode: 'SQLITE_READONLY_DBMOVED' } }

test('the write-ahead log is there as soon as the database is open', async () => {
  const { file } = await openNewDatabase()
  expect(existsSync(`${file}-wal`)).toBe(true)
})

test.each(['', '-wal'])('where the file "%s" was moved, writes are refused until it is put back', async (suffix) => {
  const { file, write, prisma } = await openNewDatabase()
  await write('1')
  renameSync(file + suffix, `${file}-elsewhere`)
  await expect(write('2')).rejects.toMatchObject(moved)
  await expect(prisma.plant.create({ data: { account: 'alice', id: '3', name: 'Ficus' } })).rejects.toThrow()
  await expect(prisma.plant.updateMany({ data: { name: 'Hedera' } })).rejects.toThrow()
  expect(await prisma.plant.count()).toBe(1)

  renameSync(`${file}-elsewhere`, file + suffix)
  await write('4')
  expect(query(file, 'SELECT id, name FROM Plant ORDER BY seq')).toEqual([
    { id: '1', name: 'Ficus' },
    { id: '4', name: 'Ficus' },
  ])
})

test('where another database was put in its place, writes to the one that was opened are refused', async () => {
  const [first, second] = [await openNewDatabase(), await openNewDatabase()]
  rmSync(first.file)
  renameSync(second.file, first.file)
  await expect(first.write('1')).rejects.toMatchObject(moved)
})

test('a write during which the file was deleted is not called done', async () => {
  const { file, write } = await openNewDatabase()
  const writing = write('1')
  rmSync(file)
  await expect(writing).rejects.toMatchObject(moved)
})

test('a change that leaves the time of the folder as it is, being in the same tick of the clock, is noticed', async () => {
  const { file, write } = await openNewDatabase()
  const now = new Date(Date.now() + 3_600_000)
  utimesSync(path.dirname(file), now, now)
  await write('1')
  renameSync(`${file}-wal`, `${file}-elsewhere`)
  utimesSync(path.dirname(file), now, now)
  await expect(write('2')).rejects.toMatchObject(moved)
})

test('a database that a symbolic link leads to is guarded where it is', async () => {
  const { file, url } = temporaryDatabase()
  const link = `${temporaryDatabase().file}-link`
  await migrateDatabase(url)
  symlinkSync(file, link)
  const database = await openDatabase(`file:${link}`)
  onTestFinished(() => database.close())
  const write = () => database.sql.execute(`UPDATE "Plant" SET "name" = 'Ficus'`)
  await write()
  renameSync(`${file}-wal`, `${file}-elsewhere`)
  await expect(write()).rejects.toMatchObject(moved)
})
