/** What the commands and the server do on a disk, or in a folder, that is slow or cannot do what a database needs. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrateDatabase } from '@plant-store/prisma'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  createFailingFork,
  createSlowDisk,
  type Fault,
  onFaultyDisk,
  whyNoFaultyDisk,
} from '../../../test/helpers/database/faulty-disk.ts'
import { writeNewDatabase } from '../../../test/helpers/database/new-database.ts'
import { postgresqlUser } from '../../../test/helpers/database/postgresql.ts'
import {
  fillUp,
  mountSmallDisk,
  unmount,
  whyImpossible,
  whyNoSmallDisk,
} from '../../../test/helpers/database/small-disk.ts'
import { query, runSql } from '../../../test/helpers/database/sqlite.ts'
import { commandLine, runCommand, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createPlant, startWriting } from '../../../test/helpers/server/start-writing.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { childrenOf } from '../../bench/cpu-time.ts'
import { expectReadiness, readiness } from '../helpers/storage/load.ts'
import { readDatabase } from '../helpers/storage/read-database.ts'

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

const SEARCHES = [...CREATES_DATABASE, 'token list', 'backup copy.db']
test.skipIf(whyNoOtherUser).for(SEARCHES)('%s names a folder that it may not search', (command) => {
  const { file, url } = temporaryDatabase()
  const folder = path.dirname(file)
  chmodSync(folder, 0o000)
  onTestFinished(() => chmodSync(folder, 0o700))
  const [, ...args] = commandLine(command.split(' '))
  const env = { DATABASE_URL: url, PORT: '0' }
  const { status, stderr } = spawnSync(program, args, { ...postgresqlUser, env, encoding: 'utf8' })
  const reason = 'it must be a file that this user may read and write, in a folder that this user may write to'
  expect([status, stderr]).toEqual([1, `plant-store: ${file} cannot be opened: ${reason}\n`])
})

/** How a process cannot be started; `fork` throws the first three. */
const FORK_ERRORS = ['ENOMEM', 'EPERM', 'ETXTBSY', 'EAGAIN', 'EMFILE', 'ENFILE', 'ENOENT'] as const

/** Starts a server over a disk that is slow for the process that writes, not for this one. */
async function startOnSlowDisk(): Promise<TestServer & { file: string; disk: Fault }> {
  const disk = createSlowDisk()
  for (const [name, value] of Object.entries(disk.environment)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  onTestFinished(() => disk.set(0))
  const file = path.join(temporaryFolder(), 'plants.db')
  return { ...(await startTestServer({ databaseUrl: `file:${file}`, adminPort: 0 })), file, disk }
}

test.skipIf(whyNoFaultyDisk)('while a commit waits for the disk, everything that only reads goes on', async () => {
  await using server = await startOnSlowDisk()
  const { token } = await server.createToken({ account: 'bob' })
  expect((await createPlant(server.url, token, 1)).status).toBe(200)
  server.disk.set(600)
  let isStored = false
  const creating = createPlant(server.url, server.token, 2).finally(() => {
    isStored = true
  })
  let rounds = 0
  for (; !isStored; rounds++) {
    const list = await server.call('/plants', { token })
    expect([list.status, ((await list.json()) as unknown[]).length]).toEqual([200, 1])
    expect((await fetch(`${server.adminUrl}/livez`)).status).toBe(200)
  }
  // On the event loop, the commit would let one round begin.
  expect(rounds).toBeGreaterThan(2)
  expect((await creating).status).toBe(200)
  expect(await (await server.call('/plants')).json()).toHaveLength(1)
})

test.skipIf(whyNoFaultyDisk)('a disk that hangs rejects writes, and only those, until it responds', async () => {
  await using server = await startOnSlowDisk()
  expect(await readiness(server)).toBe('200 ready')
  for (const id of [5, 6]) expect((await createPlant(server.url, server.token, id)).status).toBe(200)
  server.disk.set(600_000)
  const responses = await Promise.all([1, 2, 3].map((id) => createPlant(server.url, server.token, id)))
  expect(responses.map(({ status, retryAfter }) => [status, retryAfter])).toEqual(Array(3).fill([503, '5']))
  // Those after them do not wait again.
  const begin = performance.now()
  expect((await createPlant(server.url, server.token, 4)).status).toBe(503)
  expect(performance.now() - begin).toBeLessThan(1_500)
  expect((await server.call('/plants')).status).toBe(200)
  // The first page of this server.
  const { status, headers } = await server.call('/plants?limit=1')
  expect([status, headers.get('link')]).toEqual([200, expect.stringContaining('rel="next"')])
  expect(await readiness(server)).toBe(
    '503 The database cannot be written: its disk does not respond; check that it is mounted and not overloaded.',
  )

  server.disk.set(0)
  await expectReadiness(server, '200 ready')
  for (const id of [1, 2, 3, 4]) expect((await createPlant(server.url, server.token, id)).status).toBe(200)
  await server.close()
  const { integrity, ids } = readDatabase(server.file)
  expect([integrity, ids.toSorted()]).toEqual(['ok', [1, 2, 3, 4, 5, 6]])
})

test.skipIf(whyNoFaultyDisk)('SIGTERM ends a server whose disk hangs', async () => {
  const disk = createSlowDisk()
  const { server, token } = await startWithToken(temporaryFolder(), 'plants', disk.environment)
  disk.set(600_000)
  const creating = createPlant(server.url, token, 1)
  await sleep(200)
  expect(await server.end('SIGTERM')).toBe(0)
  expect((await creating).status).toBe(503)
})

test('a writer that is killed fails its writes with 503 and is started again, and nothing that got a 200 is lost', async () => {
  const folder = temporaryFolder()
  const { server, token } = await startWithToken(folder, 'plants')
  const writing = startWriting({ url: server.url, token, writers: 8 })
  const stored = () => writing.responses.filter(({ status }) => status === 200)
  const isRejected = () => writing.responses.some(({ status }) => status === 503)
  // Until one was in the middle of a commit.
  for (let kill = 0; kill < 3 || !isRejected(); kill++) {
    const before = stored().length
    await expect.poll(() => stored().length).toBeGreaterThan(before + 50)
    for (const writer of childrenOf(server.pid)) process.kill(writer, 'SIGKILL')
  }
  const before = stored().length
  await expect.poll(() => stored().length).toBeGreaterThan(before + 50)
  await writing.stop()
  expect(new Set(writing.responses.map(({ status }) => status))).toEqual(new Set([200, 503]))
  expect(server.output()).toMatch(/the database process has ended \(SIGKILL\)/)

  // The writer ends with a server that is killed, and without writing: the log stays.
  const [writer] = childrenOf(server.pid)
  await server.end('SIGKILL')
  await expect.poll(() => existsSync(`/proc/${writer}`)).toBe(false)
  const file = path.join(folder, 'plants.db')
  expect(existsSync(`${file}-wal`)).toBe(true)
  const { integrity, ids } = readDatabase(file)
  expect(integrity).toBe('ok')
  const present = new Set(ids)
  expect(present.size).toBe(ids.length)
  expect(stored().filter(({ id }) => !present.has(id))).toEqual([])
})

test.skipIf(whyNoFaultyDisk)('a writer that cannot start again fails its writes with 503 and the reason', async () => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'plants.db')
  const fork = createFailingFork()
  const { server, token } = await startWithToken(folder, 'plants', { ADMIN_PORT: '0', ...fork.environment })
  const [trigger] = query(file, `SELECT sql FROM sqlite_schema WHERE name = 'Plant_updated'`) as { sql: string }[]
  const faults = FORK_ERRORS.map((code) => ({
    cause: () => fork.set(constants.errno[code]),
    fix: () => fork.set(0),
    reason: `A process for the database cannot be started (${code}): check the limits of memory, processes and open files, and that Node.js can be started.`,
  }))
  faults.push({
    cause: () => runSql(file, 'DROP TRIGGER "Plant_updated"'),
    fix: () => runSql(file, String(trigger?.sql)),
    reason: `${file} lacks the trigger "Plant_updated" of its migrations: restore a backup.`,
  })
  for (const [id, { cause, fix, reason }] of faults.entries()) {
    cause()
    const [writer] = childrenOf(server.pid)
    process.kill(Number(writer), 'SIGKILL')
    await expect.poll(() => childrenOf(server.pid)).toEqual([])
    const responses = await Promise.all([1, 2, 3].map((n) => createPlant(server.url, token, n * 100 + id)))
    expect(responses.map(({ status, retryAfter }) => [status, retryAfter])).toEqual(Array(3).fill([503, '5']))
    await expectReadiness(server, `503 ${reason}`)
    expect(server.output()).toContain(JSON.stringify(reason.charAt(1) + reason.slice(2, -1)).slice(1, -1))
    fix()
    // A busy machine may take longer to start a process than a request waits.
    await expect.poll(async () => (await createPlant(server.url, token, id)).status).toBe(200)
    await expectReadiness(server, '200 ready')
  }
  expect(readDatabase(file).ids).toEqual([...faults.keys()])
})

test.each([
  { what: 'a file', name: 'link' },
  { what: 'a folder', name: 'link/plants' },
])('a symbolic link to $what that is pointed elsewhere leaves the server with its database', async ({ what, name }) => {
  const folder = temporaryFolder()
  const [file, other] = ['one', 'other'].map((each) => path.join(mkdtempSync(path.join(folder, each)), 'plants.db'))
  const point = (target = '') => {
    const link = path.join(folder, what === 'a file' ? 'link.db' : 'link')
    symlinkSync(what === 'a file' ? target : path.dirname(target), `${link}.new`)
    renameSync(`${link}.new`, link)
  }
  await migrateDatabase(`file:${other}`)
  point(file)
  const { server, token } = await startWithToken(folder, name, { ADMIN_PORT: '0' })
  point(other)
  expect((await createPlant(server.url, token, 1)).status).toBe(200)
  process.kill(Number(childrenOf(server.pid)[0]), 'SIGKILL')
  await expect.poll(() => childrenOf(server.pid)).toEqual([])
  await expect.poll(async () => (await createPlant(server.url, token, 2)).status).toBe(200)
  const list = await fetch(`${server.url}/plants`, { headers: { authorization: `Bearer ${token}` } })
  expect(await list.json()).toHaveLength(2)
  expect(await readiness(server)).toBe('200 ready')
  expect([file, other].map((each) => readDatabase(String(each)).ids)).toEqual([[1, 2], []])
})
