/**
 * What the commands and the server do on a disk, or in a folder, that is slow or cannot do what a database needs, and
 * that what got a 200 is not lost when the files of a running server's database are moved, removed or replaced.
 */
import { readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runSql, writeNewDatabase } from '../../../test/helpers/database/databases.ts'
import * as disks from '../../../test/helpers/database/disks.ts'
import { root, runProgram, startProgram } from '../../../test/helpers/programs.ts'
import { callPlants, createPlant } from '../../../test/helpers/server/call-plants.ts'
import {
  commandLine,
  createTokens,
  runCommand,
  startServerProcess,
  startWithToken,
} from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary.ts'
import * as storage from '../helpers/load.ts'

const { whyNoFaultyDisk, onFaultyDisk } = disks
const testFaulty = test.skipIf(whyNoFaultyDisk)
const { ENOLCK, EIO, EINVAL, EPERM } = constants.errno

/** In a process, ten seconds pass in one. */
const FAST = `--import=data:text/javascript,const%20now=performance.now.bind(performance);performance.now=()=>10*now()`

// SQLite calls a disk without locks busy, so a command first waits for another process.
const BUSY = 'is locked by another process: '
const IO_ERROR =
  'cannot be read, written or locked, I/O errors: free some space, check the disk, or put the database on a local one'
const ADVICE = 'put it on a local disk, or a volume of the container engine, or set DATABASE_URL to PostgreSQL'
const sharedBy = (name: string) => `is on ${name}, where SQLite can damage it without an error: ${ADVICE}`

testFaulty.each<[command: string, faults: Parameters<typeof onFaultyDisk>[0], reason: string]>([
  ['serve', { LOCK_ERRNO: ENOLCK }, BUSY],
  ['migrate', { LOCK_ERRNO: EIO }, IO_ERROR],
  ['serve', { STATFS_TYPE: 0x6969 }, sharedBy('NFS')],
  ['migrate', { STATFS_TYPE: 0xff534d42 }, sharedBy('SMB')],
  ['token list', { STATFS_TYPE: 0x01021997 }, sharedBy('9p')],
])('%s on a disk with %o says what is wrong with it, and changes nothing', async (command, faults, reason) => {
  const { file } = temporaryDatabase()
  await writeNewDatabase(file)
  const folder = path.dirname(file)
  const link = path.join(temporaryFolder(), 'link')
  symlinkSync(folder, link)
  const settings = { DATABASE_URL: `file:${link}/plants.db`, PORT: '0', NODE_OPTIONS: FAST, ...onFaultyDisk(faults) }
  const result = await runCommand(command.split(' '), settings)
  expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`plants.db ${reason}`) })
  expect(readdirSync(folder)).toEqual(['plants.db'])
})

testFaulty('on a disk without shared memory, serve says so', async () => {
  const environment = { DATABASE_URL: temporaryDatabase().url, PORT: '0', ...onFaultyDisk({ MMAP_ERRNO: EINVAL }) }
  const stderr = expect.stringContaining(IO_ERROR)
  expect(await runCommand(['serve'], environment)).toMatchObject({ exitCode: 1, stderr })
})

testFaulty(
  'the folder of a database that is created with it survives a power failure, or it is not created',
  async () => {
    const file = path.join(temporaryFolder(), 'data/plants.db')
    const engine = JSON.stringify(`${root}prisma/src/sqlite/engine.ts`)
    const code = `const { createEngine } = await import(${engine}); await createEngine(${JSON.stringify(file)}, true).create()`
    const options = { env: { ...process.env, ...onFaultyDisk({ FOLDER_ERRNO: EIO }) } }
    const result = await runProgram([process.execPath, '--input-type=module', '--eval', code], options)
    expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('StorageError') })
  },
)

testFaulty('on FUSE, serve starts with a warning', async () => {
  const { file, url } = temporaryDatabase()
  const server = await startServerProcess({ DATABASE_URL: url, ...onFaultyDisk({ STATFS_TYPE: 0x65735546 }) })
  const warning = `${file} is on FUSE: if other machines, such as the host of this container, use it too, ${ADVICE}`
  expect(server.output()).toContain(`"level":"warn"`)
  expect(server.output()).toContain(`"msg":"${warning}"`)
  expect(await server.end()).toBe(0)
})

testFaulty('a backup needs no links and no syncs of folders; where a sync fails, nothing is left', async () => {
  const { file, url } = temporaryDatabase()
  await writeNewDatabase(file)
  const copy = path.join(temporaryFolder(), 'copy.db')
  const backup = (errnos: Parameters<typeof onFaultyDisk>[0]) =>
    runCommand(['backup', copy], { DATABASE_URL: url, ...onFaultyDisk(errnos) })
  const failure = (reason: string) => ({ exitCode: 1, stdout: '', stderr: `plant-store: ${copy} ${reason}\n` })
  expect(await backup({ FOLDER_ERRNO: EIO })).toEqual(failure(IO_ERROR))
  expect(readdirSync(path.dirname(copy))).toEqual([])
  const expected = { exitCode: 0, stdout: `The database is copied to ${copy}.\n`, stderr: '' }
  expect(await backup({ LINK_ERRNO: EPERM, FOLDER_ERRNO: EINVAL })).toEqual(expected)
  expect(readdirSync(path.dirname(copy))).toEqual(['copy.db'])
  expect(await backup({ LINK_ERRNO: EPERM })).toEqual(failure('already exists: choose another name for the copy'))
})

testFaulty(
  'a backup that is killed leaves its draft, which the next one replaces; of four at a time, one is made',
  async () => {
    const { file, url } = temporaryDatabase()
    await writeNewDatabase(file)
    const copy = path.join(temporaryFolder(), 'copy.db')
    const names = () => readdirSync(path.dirname(copy))
    const disk = disks.createSlowDisk()
    disk.set(600_000)
    const draft = `${copy}.incomplete`
    const isWriting = async () => statSync(draft).size > 0
    const env = { DATABASE_URL: url, ...disk.environment }
    const killed = await startProgram(commandLine(['backup', copy]), isWriting, { env })
    const { stderr } = await runCommand(['backup', copy], { DATABASE_URL: url, NODE_OPTIONS: FAST })
    expect(stderr).toBe(
      `plant-store: ${draft} is being written by another backup: wait for it, or choose another name\n`,
    )
    expect(names()).toEqual(['copy.db.incomplete'])
    await killed.stop('SIGKILL')
    expect(names()).toEqual(['copy.db.incomplete'])
    const results = await Promise.all([1, 2, 3, 4].map(() => runCommand(['backup', copy], { DATABASE_URL: url })))
    expect(results.map(({ exitCode }) => exitCode).sort()).toEqual([0, 1, 1, 1])
    expect(names()).toEqual(['copy.db'])
    await storage.expectIntegrity(copy)
  },
)

test.skipIf(disks.whyNoSmallDisk()).for(['serve', 'migrate', 'token list'])('%s names a full disk', async (command) => {
  const folder = disks.mountSmallDisk()
  onTestFinished(() => disks.unmount(folder))
  const file = path.join(folder, 'plants.db')
  if (command === 'migrate') writeFileSync(file, '')
  else await writeNewDatabase(file)
  disks.fillUp(folder)
  const before = readdirSync(folder)
  const result = await runCommand(command.split(' '), { DATABASE_URL: `file:${file}`, PORT: '0' })
  const stderr = `plant-store: ${file} cannot be written because the disk is full: free some space and retry\n`
  expect(result).toMatchObject({ exitCode: 1, stderr })
  expect(readdirSync(folder)).toEqual(before)
})

testFaulty('a disk that hangs rejects writes, and only those, until it responds', async () => {
  const disk = disks.createSlowDisk()
  onTestFinished(() => disk.set(0))
  const folder = temporaryFolder()
  const { server, token } = await startWithToken(folder, 'plants', { ADMIN_PORT: '0', ...disk.environment })
  const list = (query = '') => callPlants({ ...server, token }, { query })
  expect(await storage.readiness(server)).toBe('200 ready')
  for (const id of [5, 6]) expect((await createPlant(server.url, token, id)).status).toBe(200)
  disk.set(600_000)
  const waiting = [1, 2, 3].map((id) => createPlant(server.url, token, id))
  // While the commit waits.
  expect(JSON.parse((await list()).body)).toHaveLength(2)
  const responses = await Promise.all(waiting)
  // Those after them do not wait again.
  const begin = performance.now()
  responses.push(await createPlant(server.url, token, 4))
  expect(performance.now() - begin).toBeLessThan(1_500)
  responses.forEach(storage.expectUnavailable)
  // The first page of this server, whose link needs a secret from the database.
  expect(await list('?limit=1')).toMatchObject({ status: 200, link: expect.stringContaining('rel="next"') })
  expect(await storage.readiness(server)).toBe(
    '503 The database cannot be written: its disk does not respond; check that it is mounted and not overloaded.',
  )

  disk.set(0)
  await storage.expectReadiness(server, '200 ready')
  for (const id of [1, 2, 3, 4]) expect((await createPlant(server.url, token, id)).status).toBe(200)
  expect(JSON.parse((await list()).body)).toHaveLength(6)
  expect(await server.end()).toBe(0)
  await storage.expectIntegrity(path.join(folder, 'plants.db'))
})

testFaulty('a disk that gave no pages for a moment is no damaged database', async () => {
  const disk = disks.createSlowDisk()
  const folder = temporaryFolder()
  const { server, token } = await startWithToken(folder, 'plants', { ADMIN_PORT: '0', ...disk.environment })
  const create = (id: number) => createPlant(server.url, token, id)
  await Promise.all(Array.from({ length: 400 }, (_, id) => create(id)))
  // What others change is read again.
  await runSql(`file:${path.join(folder, 'plants.db')}`, 'UPDATE Plant SET tag = id')
  disk.set(-1)
  expect((await create(1_000)).status).toBe(503)
  disk.set(0)
  await storage.expectReadiness(server, '200 ready')
  expect((await create(2_000)).status).toBe(200)
  expect(await server.end()).toBe(0)
})

test.for(['SIGTERM', 'SIGKILL'] as const)(
  'what got a 200 is there after %s where the -wal is removed',
  async (signal) => {
    const { file, url } = temporaryDatabase()
    const [alice = expect.unreachable()] = await createTokens(url, 'alice')
    const server = await storage.startKillable(url)
    const load = storage.startLoad({ url: server.url, ...alice })
    await load.during(async () => {
      await load.progress()
      rmSync(`${file}-wal`)
      await load.rejection()
      const reason = 'The database was moved, deleted or replaced: put it back, or restart the server.'
      await storage.expectReadiness(server, `503 ${reason}`)
      expect(load.rejected().lists).toBe(0)
      expect(await server.restart(signal)).toMatch(/plants\.db(-wal|-shm)? was moved, deleted or replaced/)
      await load.progress()
    })
    expect(await server.end()).toBe(0)
    await storage.expectIntegrity(file)
  },
)
