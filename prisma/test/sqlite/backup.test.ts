import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { connect, query, runSql } from '../../../test/helpers/database/databases.ts'
import { mountSmallDisk, unmount, whyNoSmallDisk } from '../../../test/helpers/database/disks.ts'
import { until } from '../../../test/helpers/programs.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary.ts'
import { backupDatabase } from '../../src/database.ts'
import { contentsOf } from '../helpers/engines.ts'
import { newMigrated, outcomeOf } from '../helpers/open-client.ts'

/** Expects that a backup fails with this error, and that nothing is where it would be, or what was there. */
async function expectRejection(url: string, copy: string, message: string): Promise<void> {
  const folder = path.dirname(copy)
  const before = contentsOf(folder)
  expect(await outcomeOf(backupDatabase(url, copy))).toContain(message)
  expect(contentsOf(folder)).toEqual(before)
}

test('a backup to a file that the database needs is rejected', async () => {
  const { file, url } = await newMigrated()
  await expectRejection(url, file, `${file} already exists`)
  for (const suffix of ['-wal', '-shm', '-journal']) {
    const reason = 'has the name of a file that SQLite keeps next to a database: choose another name'
    await expectRejection(url, file + suffix, `${file}${suffix} ${reason}`)
  }
})

test('a backup that cannot be made leaves nothing', async () => {
  const { url } = await newMigrated()
  const [folder, other] = [temporaryFolder(), temporaryDatabase()]
  writeFileSync(other.file, 'Dear diary. '.repeat(100))
  const copy = path.join(folder, 'copy.db')
  await expectRejection(other.url, copy, `${other.file} is not a SQLite database`)
  // A missing folder is not created, since its disk may not be mounted.
  const missing = path.join(folder, 'not', 'mounted')
  const fix = `${missing} does not exist: create this folder, or mount its disk`
  await expectRejection(url, path.join(missing, 'copy.db'), fix)
})

test('where the name of a backup is taken while it is made, that file stays, and nothing is left of the backup', async () => {
  const { file, url } = await newMigrated()
  const copy = path.join(temporaryFolder(), 'copy.db')
  // The copy waits for the lock of another process.
  const other = connect(file)
  other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  const steps: string[] = []
  const backup = expect(backupDatabase(url, copy, (step) => steps.push(step))).rejects.toThrow('already exists')
  const draft = `${copy}.incomplete`
  await until(() => existsSync(draft))
  await until(() => steps.includes(`copying the database: 0 of at most ${statSync(file).size} bytes`))
  // Only its owner may read it.
  expect((statSync(draft).mode & 0o777).toString(8)).toBe('600')
  writeFileSync(copy, 'other')
  other.close()
  await backup
  expect(readdirSync(path.dirname(copy))).toEqual(['copy.db'])
  expect(readFileSync(copy, 'utf8')).toBe('other')
})

test('a draft that no process has is replaced, also a damaged one', async () => {
  const { url } = await newMigrated()
  const copy = path.join(temporaryFolder(), 'copy.db')
  for (const left of ['', 'x'.repeat(5_000)]) {
    writeFileSync(`${copy}.incomplete`, left)
    await backupDatabase(url, copy)
    expect(readdirSync(path.dirname(copy))).toEqual(['copy.db'])
    expect(await query(`file:${copy}`, 'SELECT count(*) AS count FROM "Plant"')).toEqual([{ count: 0 }])
    rmSync(copy)
  }
})

test.skipIf(whyNoSmallDisk())('a full disk is reported for the copy, and nothing is left on it', async () => {
  const { url } = await newMigrated()
  await runSql(url, `INSERT INTO Plant (account, id, name) VALUES ('alice', '2', hex(zeroblob(8000000)))`)
  const folder = mountSmallDisk()
  onTestFinished(() => unmount(folder))
  const copy = path.join(folder, 'copy.db')
  await expectRejection(url, copy, `${copy} cannot be written because the disk is full: free some space and retry`)
})
