import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { mountSmallDisk, unmount, whyNoSmallDisk } from '../../../test/helpers/database/small-disk.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { backupDatabase, StorageError } from '../../src/index.ts'
import { contentsOf } from '../helpers/engines.ts'
import { newMigrated } from '../helpers/open-client.ts'

async function databaseWithOnePlant(): Promise<{ file: string; url: string }> {
  const database = await newMigrated()
  await runSql(
    database.url,
    `INSERT INTO Plant (account, id, name) VALUES ('alice', '9223372036854775807', 'Monstera')`,
  )
  return database
}

test('a backup reports how much of the copy is written, then that it is checked', async () => {
  const { url } = await databaseWithOnePlant()
  await runSql(url, `INSERT INTO Plant (account, id, name) VALUES ('alice', '2', hex(zeroblob(8000000)))`)
  const copy = path.join(temporaryFolder(), 'plants.db-last-backup')
  const progress: BackupProgress[] = []
  await backupDatabase(url, copy, { onProgress: (each) => progress.push(each) })
  const phases = progress.map(({ phase }) => phase)
  expect([...new Set(phases)]).toEqual(['copying', 'checking'])
  expect(phases).toEqual(phases.toSorted().reverse())
  expect(progress[0]).toEqual({ phase: 'copying', bytes: 0, fraction: 0 })
  const { size } = statSync(copy)
  for (const each of progress) {
    if (each.phase === 'copying') expect(each.fraction * size).toBeCloseTo(each.bytes, -5)
  }
  // The last backup of the database is not one of the copy. The name is that of a file of ours in another folder.
  expect(readdirSync(path.dirname(copy))).toEqual(['plants.db-last-backup'])
  expect((statSync(copy).mode & 0o777).toString(8)).toBe('600')
})

test('a backup to a file that the database needs is rejected, however its path is written', async () => {
  const { file, url } = await databaseWithOnePlant()
  const folder = path.dirname(file)
  const link = path.join(temporaryFolder(), 'link')
  symlinkSync(folder, link, 'junction')
  const before = readdirSync(folder)
  for (const suffix of ['', '-wal', '-shm', '-journal']) {
    for (const copy of [`${folder}/../${path.basename(folder)}/plants.db`, `${link}/plants.db`]) {
      await expect(backupDatabase(url, copy + suffix)).rejects.toThrow(
        new StorageError(`${copy + suffix} is a file of the database itself: choose another name for the copy`),
      )
    }
  }
  expect(readdirSync(folder)).toEqual(before)
})

test('a file that is not a database leaves nothing in place of its backup', async () => {
  const { file, url } = temporaryDatabase()
  writeFileSync(file, 'Dear diary. '.repeat(100))
  const folder = temporaryFolder()
  await expect(backupDatabase(url, path.join(folder, 'copy.db'))).rejects.toThrow(`${file} is not a SQLite database`)
  expect(contentsOf(folder)).toEqual({})
})

test('what a killed backup has left is named', async () => {
  const { url } = await databaseWithOnePlant()
  const copy = path.join(temporaryFolder(), 'copy.db')
  writeFileSync(`${copy}.incomplete`, 'half')
  await expect(backupDatabase(url, copy)).rejects.toThrow(
    `${copy}.incomplete is left of a backup that was killed, or in use by one that runs: remove it once none runs`,
  )
  expect(readdirSync(path.dirname(copy))).toEqual(['copy.db.incomplete'])
})

test('where the name of a backup is taken while it is checked, it stays what it is, and nothing is left of the backup', async () => {
  const { url } = await databaseWithOnePlant()
  const copy = path.join(temporaryFolder(), 'copy.db')
  const running = expect(backupDatabase(url, copy)).rejects.toThrow('already exists')
  while (!existsSync(`${copy}.incomplete`)) await nextTurn()
  writeFileSync(copy, 'other')
  await running
  expect(readdirSync(path.dirname(copy))).toEqual(['copy.db'])
  expect(readFileSync(copy, 'utf8')).toBe('other')
})

test('a missing folder is not created, since its disk may not be mounted', async () => {
  const { url } = await databaseWithOnePlant()
  const folder = path.join(temporaryFolder(), 'not', 'mounted')
  await expect(backupDatabase(url, path.join(folder, 'copy.db'))).rejects.toThrow(
    new StorageError(`${folder} does not exist: create this folder, or mount its disk`),
  )
  expect(existsSync(path.dirname(folder))).toBe(false)
})

const mountError = whyNoSmallDisk()

test.skipIf(mountError)('a full disk is reported for the copy, and nothing is left on it', async () => {
  const { url } = await databaseWithOnePlant()
  await runSql(url, `INSERT INTO Plant (account, id, name) VALUES ('alice', '2', hex(zeroblob(8000000)))`)
  const folder = mountSmallDisk()
  onTestFinished(() => unmount(folder))
  const copy = path.join(folder, 'copy.db')
  await expect(backupDatabase(url, copy)).rejects.toThrow(
    new StorageError(`${copy} cannot be written because the disk is full: free some space and retry`, {
      fault: 'disk-full',
    }),
  )
  expect(contentsOf(folder)).toEqual({})
})
