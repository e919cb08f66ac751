import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { mountSmallDisk, unmount, whyNoSmallDisk } from '../../../test/helpers/database/small-disk.ts'
import { connect, runSql } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { type BackupProgress, backupDatabase, openDatabase, StorageError } from '../../src/index.ts'
import { contentsOf } from '../helpers/engines.ts'
import { newMigrated } from '../helpers/open-client.ts'

async function databaseWithOnePlant(): Promise<{ file: string; url: string }> {
  const database = await newMigrated()
  runSql(database.file, `INSERT INTO Plant (account, id, name) VALUES ('alice', '9223372036854775807', 'Monstera')`)
  return database
}

test('a backup reports how much of the copy is written, then that it is checked', async () => {
  const { file, url } = await databaseWithOnePlant()
  runSql(file, `INSERT INTO Plant (account, id, name) VALUES ('alice', '2', hex(zeroblob(8000000)))`)
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
  if (process.platform !== 'win32') expect((statSync(copy).mode & 0o777).toString(8)).toBe('600')
})

test.skipIf(process.platform === 'win32')(
  'a backup to a file that the database needs is rejected, however its path is written',
  async () => {
    const { file, url } = await databaseWithOnePlant()
    const folder = path.dirname(file)
    const link = path.join(temporaryFolder(), 'link')
    symlinkSync(folder, link, 'junction')
    symlinkSync(file, path.join(link, 'other.db'))
    const before = readdirSync(folder)
    for (const suffix of ['', '-last-backup', '-wal', '-shm', '-journal']) {
      for (const copy of [file, `${folder}/../${path.basename(folder)}/plants.db`, `${link}/plants.db`]) {
        for (const source of [url, `file:${link}/other.db`]) {
          await expect(backupDatabase(source, copy + suffix)).rejects.toThrow(
            new StorageError(`${copy + suffix} is a file of the database itself: choose another name for the copy`),
          )
        }
      }
    }
    expect(readdirSync(folder)).toEqual(before)
  },
)

test('where the time of a backup cannot be recorded, the copy is complete, and nothing is replaced', async () => {
  const { file, url } = await databaseWithOnePlant()
  writeFileSync(`${file}-last-backup`, 'content')
  const before = contentsOf(path.dirname(file))
  const copy = path.join(temporaryFolder(), 'copy.db')
  expect(await backupDatabase(url, copy)).toEqual({ recorded: false })
  expect(existsSync(copy)).toBe(true)
  expect(contentsOf(path.dirname(file))).toEqual(before)
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

test.each([
  [
    'copying',
    'the unfinished copy is removed',
    (draft: string) => rmSync(draft),
    /copy\.db(\.incomplete)? cannot be opened/,
  ],
  ['checking', 'its folder is removed', (draft: string) => rmSync(path.dirname(draft), { recursive: true }), /copy.db/],
  ['checking', 'its name is taken', (draft: string) => writeFileSync(draft.slice(0, -11), 'other'), /already exists/],
])('while %s, %s: the error says so, and nothing of it is left', async (phase, _, happen, reason) => {
  const { file, url } = await databaseWithOnePlant()
  const folder = temporaryFolder()
  const copy = path.join(folder, 'copy.db')
  const other = connect(file)
  // The copy waits until it has happened.
  if (phase === 'copying') other.exec('BEGIN EXCLUSIVE')
  let reports = 0
  const onProgress = (progress: BackupProgress) => {
    if (progress.phase === phase) reports++
    if (reports !== (phase === 'copying' ? 2 : 1)) return
    happen(`${copy}.incomplete`)
    other.close()
  }
  await expect(backupDatabase(url, copy, { onProgress })).rejects.toThrow(reason)
  const left = existsSync(copy) ? { 'copy.db': 'other' } : {}
  const found = existsSync(folder) ? readdirSync(folder) : []
  expect(Object.fromEntries(found.map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]))).toEqual(left)
})

test('a missing folder is not created, since its disk may not be mounted', async () => {
  const { url } = await databaseWithOnePlant()
  const folder = path.join(temporaryFolder(), 'not', 'mounted')
  await expect(backupDatabase(url, path.join(folder, 'copy.db'))).rejects.toThrow(
    new StorageError(`${folder} does not exist: create this folder, or mount its disk`),
  )
  expect(existsSync(path.dirname(folder))).toBe(false)
})

test('the last backup of a database is in its state', async () => {
  const { url } = await databaseWithOnePlant()
  const { state, close } = await openDatabase(url)
  onTestFinished(close)
  const before = Date.now() / 1_000
  expect(await state()).toHaveProperty('lastBackup', 0)
  expect(await backupDatabase(url, path.join(temporaryFolder(), 'copy.db'))).toEqual({ recorded: true })
  // The clock of files is coarser.
  expect((await state()).lastBackup).toBeGreaterThan(before - 1)
})

const mountError = whyNoSmallDisk()

test.skipIf(mountError)('a full disk is reported for the copy, and nothing is left on it', async () => {
  const { file, url } = await databaseWithOnePlant()
  runSql(file, `INSERT INTO Plant (account, id, name) VALUES ('alice', '2', hex(zeroblob(8000000)))`)
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
