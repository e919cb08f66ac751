import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { connect, runSql } from '../../../test/helpers/database/databases.ts'
import { mountSmallDisk, unmount, whyNoSmallDisk } from '../../../test/helpers/database/small-disk.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { backupDatabase, StorageError } from '../../src/index.ts'
import { contentsOf } from '../helpers/engines.ts'
import { newMigrated } from '../helpers/open-client.ts'

test('a backup to a file that the database needs is rejected, however its path is written', async () => {
  const { file, url } = await newMigrated()
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
  const { url } = await newMigrated()
  const copy = path.join(temporaryFolder(), 'copy.db')
  writeFileSync(`${copy}.incomplete`, 'half')
  await expect(backupDatabase(url, copy)).rejects.toThrow(
    `${copy}.incomplete is left of a backup that was killed, or in use by one that runs: remove it once none runs`,
  )
  expect(readdirSync(path.dirname(copy))).toEqual(['copy.db.incomplete'])
})

test('where the name of a backup is taken while it is made, that file stays, and nothing is left of the backup', async () => {
  const { file, url } = await newMigrated()
  const copy = path.join(temporaryFolder(), 'copy.db')
  // The copy waits for the lock of another process.
  const other = connect(file)
  other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  const backup = expect(backupDatabase(url, copy)).rejects.toThrow('already exists')
  await until(() => existsSync(`${copy}.incomplete`))
  // Only its owner may read it.
  expect((statSync(`${copy}.incomplete`).mode & 0o777).toString(8)).toBe('600')
  writeFileSync(copy, 'other')
  other.close()
  await backup
  expect(readdirSync(path.dirname(copy))).toEqual(['copy.db'])
  expect(readFileSync(copy, 'utf8')).toBe('other')
})

test('a missing folder is not created, since its disk may not be mounted', async () => {
  const { url } = await newMigrated()
  const folder = path.join(temporaryFolder(), 'not', 'mounted')
  await expect(backupDatabase(url, path.join(folder, 'copy.db'))).rejects.toThrow(
    new StorageError(`${folder} does not exist: create this folder, or mount its disk`),
  )
  expect(existsSync(path.dirname(folder))).toBe(false)
})

const mountError = whyNoSmallDisk()

test.skipIf(mountError)('a full disk is reported for the copy, and nothing is left on it', async () => {
  const { url } = await newMigrated()
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
