/** What the commands say on a disk, or in a folder, that cannot do what a database needs. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createFailingFork, onFaultyDisk, whyNoFaultyDisk } from '../../../test/helpers/database/faulty-disk.ts'
import { writeNewDatabase } from '../../../test/helpers/database/new-database.ts'
import { postgresqlUser } from '../../../test/helpers/database/postgresql.ts'
import {
  fillUp,
  mountSmallDisk,
  unmount,
  whyImpossible,
  whyNoSmallDisk,
} from '../../../test/helpers/database/small-disk.ts'
import { commandLine, runCommand } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

if (whyNoFaultyDisk) console.log(`Disks without locks are not tested, since none can be imitated: ${whyNoFaultyDisk}`)
const whyNoDisk = whyNoSmallDisk()
const [program = '', ...version] = commandLine(['--version'])
// Root may search every folder.
const whyNoOtherUser = whyImpossible(() => execFileSync(program, version, { ...postgresqlUser, stdio: 'pipe' }))
if (whyNoOtherUser) console.log(`A folder that cannot be searched is not tested: ${whyNoOtherUser}`)
const { ENOLCK, EAGAIN, EIO, ENOMEM } = constants.errno
const NEEDS_DATABASE = ['serve', 'migrate', 'token list', 'backup']
const CREATES_DATABASE = ['serve', 'migrate']

test
  .skipIf(whyNoFaultyDisk)
  .for([
    ...NEEDS_DATABASE.map((command) => ({ command, exists: true, errno: ENOLCK })),
    ...CREATES_DATABASE.map((command) => ({ command, exists: false, errno: ENOLCK })),
    { command: 'migrate', exists: false, errno: EAGAIN },
    { command: 'migrate', exists: true, errno: EIO },
  ])('on a disk without locks, $command says so and leaves nothing behind ($exists, $errno)', async (each) => {
  const { file, url } = temporaryDatabase()
  const folder = path.dirname(file)
  if (each.exists) await writeNewDatabase(file)
  const before = readdirSync(folder)
  const target = path.join(temporaryFolder(), 'copy.db')
  const args = each.command === 'backup' ? ['backup', target] : each.command.split(' ')
  const result = await runCommand(args, { DATABASE_URL: url, PORT: '0', ...onFaultyDisk(each.errno) })
  const named = each.command === 'backup' ? target : file
  expect(result).toMatchObject({
    exitCode: 1,
    stderr: `plant-store: ${named} is on a disk that does not support locks: put the database on a local disk\n`,
  })
  expect(readdirSync(folder)).toEqual(before)
  expect(readdirSync(path.dirname(target))).toEqual([])
})

test
  .skipIf(whyNoFaultyDisk)
  .for(NEEDS_DATABASE.flatMap((command) => [ENOMEM, EAGAIN].map((errno) => ({ command, errno }))))(
  'where no process can be started, $command says so and leaves nothing behind ($errno)',
  async ({ command, errno }) => {
    const { file, url } = temporaryDatabase()
    // Only migrations start a process to migrate.
    if (command !== 'migrate') await writeNewDatabase(file)
    const target = path.join(temporaryFolder(), 'copy.db')
    const args = command === 'backup' ? ['backup', target] : command.split(' ')
    const fork = createFailingFork()
    fork.set(errno)
    const result = await runCommand(args, { DATABASE_URL: url, PORT: '0', ...fork.environment })
    const code = errno === ENOMEM ? 'ENOMEM' : 'EAGAIN'
    const sentence = new RegExp(`^plant-store: a process for the database cannot be started \\(${code}\\): .+\n$`)
    expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(sentence) })
    expect(readdirSync(path.dirname(target))).toEqual([])
  },
)

test.skipIf(whyNoDisk).for(['serve', 'migrate', 'token list'])('%s names a full disk', async (command) => {
  const folder = mountSmallDisk()
  onTestFinished(() => unmount(folder))
  const file = path.join(folder, 'plants.db')
  if (command === 'migrate') writeFileSync(file, '')
  else await writeNewDatabase(file)
  fillUp(folder)
  const before = readdirSync(folder)
  const result = await runCommand(command.split(' '), { DATABASE_URL: `file:${file}`, PORT: '0' })
  expect(result).toMatchObject({
    exitCode: 1,
    stderr: `plant-store: ${file} cannot be written because the disk is full: free some space and retry\n`,
  })
  expect(readdirSync(folder)).toEqual(before)
})

test.skipIf(whyNoOtherUser).for([...CREATES_DATABASE, 'token list', 'backup copy.db'])(
  '%s names a folder that it may not search',
  (command) => {
    const { file, url } = temporaryDatabase()
    const folder = path.dirname(file)
    chmodSync(folder, 0o000)
    onTestFinished(() => chmodSync(folder, 0o700))
    const [, ...args] = commandLine(command.split(' '))
    const env = { DATABASE_URL: url, PORT: '0' }
    const { status, stderr } = spawnSync(program, args, { ...postgresqlUser, env, encoding: 'utf8' })
    const reason = 'it must be a file that this user may read and write, in a folder that this user may write to'
    expect([status, stderr]).toEqual([1, `plant-store: ${file} cannot be opened: ${reason}\n`])
  },
)
