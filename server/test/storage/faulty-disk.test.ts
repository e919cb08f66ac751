/**
 * What the commands and the server do on a disk, or in a folder, that is slow or cannot do what a database needs, and that what
 * got a 200 is not lost when the files of a running server's database are moved, removed or replaced.
 */
import { copyFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { writeNewDatabase } from '../../../test/helpers/database/databases.ts'
import {
  createSlowDisk,
  endThreadOnSignal,
  fillUp,
  mountSmallDisk,
  onFaultyDisk,
  unmount,
  whyNoFaultyDisk,
  whyNoSmallDisk,
} from '../../../test/helpers/database/disks.ts'
import { runCommand, startServerProcess, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { createPlant, type PlantResponse, startWriting } from '../../../test/helpers/server/start-writing.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary.ts'
import { expectReadiness, expectUnavailable, readDatabase, readiness, startLoad } from '../helpers/storage/load.ts'

if (whyNoFaultyDisk) console.log(`Disks without locks are not tested, since none can be imitated: ${whyNoFaultyDisk}`)
const whyNoDisk = whyNoSmallDisk()
const { ENOLCK, EIO, EINVAL, EPERM } = constants.errno

// SQLite calls a disk without locks busy, so a command first waits for another process.
test.skipIf(whyNoFaultyDisk).concurrent.each([
  ['serve', ENOLCK, /is locked by another process: .* its disk may not support locks: put it on a local disk\n$/],
  ['token list', ENOLCK, /is locked by another process: .* its disk may not support locks/],
  ['migrate', EIO, /is on a disk that does not support locks: put the database on a local disk\n$/],
])('on a disk without locks, %s says so (%i)', async (command, errno, reason) => {
  const { file, url } = temporaryDatabase()
  await writeNewDatabase(file)
  const result = await runCommand(command.split(' '), {
    DATABASE_URL: url,
    PORT: '0',
    ...onFaultyDisk({ LOCK_ERRNO: errno }),
  })
  expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(reason) })
  expect(readdirSync(path.dirname(file))).toEqual(['plants.db'])
})

test.skipIf(whyNoFaultyDisk)(
  'a backup to a disk without links and syncs of folders succeeds; where a sync fails, nothing is left',
  async () => {
    const { file, url } = temporaryDatabase()
    await writeNewDatabase(file)
    const copy = path.join(temporaryFolder(), 'copy.db')
    const backup = (errnos: Parameters<typeof onFaultyDisk>[0]) =>
      runCommand(['backup', copy], { DATABASE_URL: url, ...onFaultyDisk(errnos) })
    const stderr = `plant-store: ${copy} cannot be read or written, I/O errors: its disk is full or fails; free some space, or check the disk\n`
    expect(await backup({ FOLDER_ERRNO: EIO })).toEqual({ exitCode: 1, stdout: '', stderr })
    expect(readdirSync(path.dirname(copy))).toEqual([])
    const expected = { exitCode: 0, stdout: `The database is copied to ${copy}.\n`, stderr: '' }
    expect(await backup({ LINK_ERRNO: EPERM, FOLDER_ERRNO: EINVAL })).toEqual(expected)
    expect(readdirSync(path.dirname(copy))).toEqual(['copy.db'])
    const taken = {
      exitCode: 1,
      stdout: '',
      stderr: `plant-store: ${copy} already exists: choose another name for the copy\n`,
    }
    expect(await backup({ LINK_ERRNO: EPERM })).toEqual(taken)
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
  const stderr = `plant-store: ${file} cannot be written because the disk is full: free some space and retry\n`
  expect(result).toMatchObject({ exitCode: 1, stderr })
  expect(readdirSync(folder)).toEqual(before)
})

test.skipIf(whyNoFaultyDisk)(
  'a disk that hangs rejects writes, and only those, until it responds; SIGTERM ends its server',
  async () => {
    const disk = createSlowDisk()
    onTestFinished(() => disk.set(0))
    const folder = temporaryFolder()
    const { server, token } = await startWithToken(folder, 'plants', { ADMIN_PORT: '0', ...disk.environment })
    const list = (query = '') =>
      fetch(`${server.url}/plants${query}`, { headers: { authorization: `Bearer ${token}` } })
    expect(await readiness(server)).toBe('200 ready')
    for (const id of [5, 6]) expect((await createPlant(server.url, token, id)).status).toBe(200)
    disk.set(600_000)
    const waiting = [1, 2, 3].map((id) => createPlant(server.url, token, id))
    // While the commit waits.
    expect(await (await list()).json()).toHaveLength(2)
    const responses = await Promise.all(waiting)
    // Those after them do not wait again.
    const begin = performance.now()
    responses.push(await createPlant(server.url, token, 4))
    expect(performance.now() - begin).toBeLessThan(1_500)
    responses.forEach(expectUnavailable)
    // The first page of this server, whose link needs a secret from the database.
    const { status, headers } = await list('?limit=1')
    expect([status, headers.get('link')]).toEqual([200, expect.stringContaining('rel="next"')])
    expect(await readiness(server)).toBe(
      '503 The database cannot be written: its disk does not respond; check that it is mounted and not overloaded.',
    )

    disk.set(0)
    await expectReadiness(server, '200 ready')
    for (const id of [1, 2, 3, 4]) expect((await createPlant(server.url, token, id)).status).toBe(200)
    disk.set(600_000)
    const creating = createPlant(server.url, token, 7)
    await sleep(200)
    // Nothing ends a thread that waits for a disk, so the process ends itself by SIGKILL.
    expect(await server.end('SIGTERM')).toBe(null)
    expect((await creating).status).toBe(503)
    const { integrity, ids } = readDatabase(path.join(folder, 'plants.db'))
    expect([integrity, ids]).toEqual(['ok', expect.arrayContaining([1, 2, 3, 4, 5, 6])])
  },
)

test('a thread that writes and ends fails its writes with 503 and is started again, and nothing that got a 200 is lost', async () => {
  const { server, token } = await startWithToken(temporaryFolder(), 'plants', endThreadOnSignal())
  const load = startLoad({ url: server.url, token })
  await load.during(async () => {
    // Until one was in the middle of a commit.
    for (let end = 0; end < 3 || load.rejected().plants === 0; end++) {
      await load.progress()
      server.signal('SIGUSR2')
    }
    await load.progress()
  })
  expect(load.rejected().lists).toBe(0)
  expect(server.output()).toMatch(/the thread that writes has ended: it is started again/)
  expect(await server.end()).toBe(0)
})

async function writeFromOther(file: string, token: string): Promise<PlantResponse[]> {
  rmSync(`${file}-shm`)
  const other = await startServerProcess({ DATABASE_URL: `file:${file}` })
  const writing = startWriting({ url: other.url, token, writers: 8, firstId: 1_000_000 })
  await expect.poll(() => writing.responses.length).toBeGreaterThan(2_000)
  await writing.stop()
  expect(writing.responses.filter(({ status }) => status !== 200)).toEqual([])
  await other.end()
  return writing.responses
}

function replace(file: string): void {
  copyFileSync(file, `${file}.copy`)
  renameSync(`${file}.copy`, file)
}

/** What happens to the files, and whether a list then has to be a 503; otherwise it has every plant. */
const happenings = [
  { title: 'the -wal is removed', happen: (file: string) => rmSync(`${file}-wal`), isReplaced: false },
  { title: 'the -shm is removed and another server writes', happen: writeFromOther, isReplaced: true },
  { title: 'a copy replaces the database', happen: replace, isReplaced: true },
]

const signals = ['SIGTERM', 'SIGKILL'] as const

test.for(happenings.flatMap((each) => signals.map((signal) => ({ ...each, signal }))))(
  'what got a 200 is there after $signal where $title',
  async ({ happen, isReplaced, signal }) => {
    const folder = temporaryFolder()
    const file = path.join(folder, 'plants.db')
    const { server, token } = await startWithToken(folder, 'plants', { ADMIN_PORT: '0' })
    const writing = startWriting({ url: server.url, token, writers: 8 })
    const stored = () => writing.responses.filter(({ status }) => status === 200)
    await expect.poll(() => stored().length).toBeGreaterThan(300)
    const others = (await happen(file, token)) ?? []
    await expect.poll(() => writing.responses.some(({ status }) => status === 503)).toBe(true)
    await writing.stop()

    expect(await readiness(server)).toBe(
      '503 The database was moved, deleted or replaced: put it back, or restart the server.',
    )
    expectUnavailable(await createPlant(server.url, token, 5_000_000))
    const list = await fetch(`${server.url}/plants`, { headers: { authorization: `Bearer ${token}` } })
    expect(list.status).toBe(isReplaced ? 503 : 200)
    if (!isReplaced) expect(((await list.json()) as unknown[]).length).toBeGreaterThanOrEqual(stored().length)
    expect(server.output()).toMatch(/plants\.db(-wal|-shm)? was moved, deleted or replaced/)

    expect(await server.end(signal)).toBe(signal === 'SIGTERM' ? 0 : null)
    const again = await startServerProcess({ DATABASE_URL: `file:${file}` })
    const created = await createPlant(again.url, token, 5_000_001)
    await again.end()
    const { integrity, ids } = readDatabase(file)
    expect([integrity, created.status]).toEqual(['ok', 200])
    const present = new Set(ids)
    expect([...stored(), ...others, created].filter(({ id }) => !present.has(id))).toEqual([])
  },
)
