import { copyFileSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { connect, query } from '../../../test/helpers/database/databases.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { connectGuarded } from '../../src/sqlite/file-guard.ts'
import { newMigrated, openClient } from '../helpers/open-client.ts'

/** Opens a database behind a symbolic link: it is guarded where it is. */
async function openNewDatabase() {
  const database = await newMigrated()
  const link = path.join(temporaryFolder(), 'link')
  symlinkSync(database.file, link)
  const client = await openClient(`file:${link}`)
  const write = (id: string) => client.prisma.plant.createMany({ data: { account: 'alice', id, name: 'Ficus' } })
  return { ...database, ...client, write }
}

const moved = {
  name: 'StorageError',
  fault: 'read-only',
  message: expect.stringMatching(/was moved, deleted or replaced/),
}

test.each(['', '-wal', '-shm'])(
  'after plants.db%s was moved, writes are rejected until it is put back, and after it was replaced also reads',
  async (suffix) => {
    const { file, url, write, prisma, probe, close } = await openNewDatabase()
    await write('1')
    renameSync(file + suffix, `${file}-elsewhere`)
    await expect(probe()).rejects.toMatchObject(moved)
    await expect(write('2')).rejects.toMatchObject(moved)
    expect(await prisma.plant.count()).toBe(1)

    renameSync(`${file}-elsewhere`, file + suffix)
    await write('4')
    expect(await query(url, 'SELECT id, name FROM Plant ORDER BY seq')).toEqual([
      { id: '1', name: 'Ficus' },
      { id: '4', name: 'Ficus' },
    ])

    renameSync(file + suffix, `${file}-kept`)
    copyFileSync(`${file}-kept`, file + suffix)
    const contents = () => [file, `${file}-wal`].map((name) => readFileSync(name))
    const before = contents()
    await expect(write('5')).rejects.toMatchObject(moved)
    await expect(prisma.plant.count()).rejects.toMatchObject(moved)
    // Others may have seen the replacement: the file stays lost once it is back.
    renameSync(`${file}-kept`, file + suffix)
    await expect(write('6')).rejects.toMatchObject(moved)
    // Nor does closing write.
    await close()
    expect(contents()).toEqual(before)
  },
)

test('a write during which the file is deleted fails', async () => {
  const { file, write } = await openNewDatabase()
  // The write waits for the lock: otherwise it may end before the file is deleted.
  const other = connect(file)
  other.exec('BEGIN IMMEDIATE')
  const writing = write('1')
  rmSync(file)
  other.exec('ROLLBACK')
  await expect(writing).rejects.toMatchObject(moved)
})

test('a connection whose first statements fail is closed, and holds no lock', async () => {
  const { file } = await newMigrated()
  const open = (script: string) => connectGuarded(file, { script })
  expect(() => open('BEGIN IMMEDIATE; SELECT nothing')).toThrow('nothing')
  open('BEGIN IMMEDIATE').close()
})

test('a change in the same clock tick, with the same folder time, is detected', async () => {
  const { file, write } = await openNewDatabase()
  const now = new Date(Date.now() + 3_600_000)
  utimesSync(path.dirname(file), now, now)
  await write('1')
  renameSync(`${file}-wal`, `${file}-elsewhere`)
  utimesSync(path.dirname(file), now, now)
  await expect(write('2')).rejects.toMatchObject(moved)
  // By then, the file alone has what was confirmed: this process may be killed.
  copyFileSync(file, `${file}.copy`)
  expect(await query(`file:${file}.copy`, 'SELECT id FROM Plant')).toEqual([{ id: '1' }])
})

test('a database that was replaced while it was opened is not the one that was', async () => {
  const { file } = await newMigrated()
  for (const isReplaced of [true, false]) {
    const options = {
      get script() {
        copyFileSync(file, `${file}.copy`)
        if (isReplaced) renameSync(`${file}.copy`, file)
        return ''
      },
    }
    const { findMoved, close } = connectGuarded(file, options)
    expect(findMoved()).toEqual(isReplaced ? { name: file, isReplaced: true, isLog: false } : undefined)
    close()
  }
})
