/** What the commands and the server do on a disk, or in a folder, that is slow or cannot do what a database needs. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import {
  createSlowDisk,
  endThreadOnSignal,
  onFaultyDisk,
  whyNoFaultyDisk,
} from '../../../test/helpers/database/faulty-disk.ts'
import { writeNewDatabase } from '../../../test/helpers/database/new-database.ts'
import { fillUp, mountSmallDisk, unmount, whyNoSmallDisk } from '../../../test/helpers/database/small-disk.ts'
import { runCommand, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { createPlant, startWriting } from '../../../test/helpers/server/start-writing.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { expectReadiness, readiness } from '../helpers/storage/load.ts'
import { readDatabase } from '../helpers/storage/read-database.ts'

if (whyNoFaultyDisk) console.log(`Disks without locks are not tested, since none can be imitated: ${whyNoFaultyDisk}`)
const whyNoDisk = whyNoSmallDisk()
const { ENOLCK, EIO } = constants.errno

// SQLite calls a disk without locks busy, so a command first waits for another process.
test.skipIf(whyNoFaultyDisk).concurrent.each([
  ['serve', ENOLCK, /is locked by another process: .* its disk may not support locks: put it on a local disk\n$/],
  ['token list', ENOLCK, /is locked by another process: .* its disk may not support locks/],
  ['migrate', EIO, /is on a disk that does not support locks: put the database on a local disk\n$/],
])('on a disk without locks, %s says so (%i)', async (command, errno, reason) => {
  const { file, url } = temporaryDatabase()
  await writeNewDatabase(file)
  const result = await runCommand(command.split(' '), { DATABASE_URL: url, PORT: '0', ...onFaultyDisk(errno) })
  expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(reason) })
  expect(readdirSync(path.dirname(file))).toEqual(['plants.db'])
})

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

/** Starts a server over a disk that is slow. */
async function startOnSlowDisk() {
  const disk = createSlowDisk()
  onTestFinished(() => disk.set(0))
  const folder = temporaryFolder()
  const environment = { ADMIN_PORT: '0', ...disk.environment }
  const { server, tokens } = await startWithToken(folder, 'plants', environment, ['alice', 'bob'])
  const call = (target: string, token = tokens[0]) =>
    fetch(server.url + target, { headers: { authorization: `Bearer ${token}` } })
  return { ...server, tokens, disk, call, file: path.join(folder, 'plants.db') }
}

test.skipIf(whyNoFaultyDisk)('while a commit waits for the disk, everything that only reads goes on', async () => {
  const server = await startOnSlowDisk()
  const [token = '', other = ''] = server.tokens
  expect((await createPlant(server.url, other, 1)).status).toBe(200)
  server.disk.set(600)
  let isStored = false
  const creating = createPlant(server.url, token, 2).finally(() => {
    isStored = true
  })
  let rounds = 0
  for (; !isStored; rounds++) {
    const list = await server.call('/plants', other)
    expect([list.status, ((await list.json()) as unknown[]).length]).toEqual([200, 1])
    expect((await fetch(`${server.adminUrl}/livez`)).status).toBe(200)
  }
  // On the event loop, the commit would let one round begin.
  expect(rounds).toBeGreaterThan(2)
  expect((await creating).status).toBe(200)
  expect(await (await server.call('/plants')).json()).toHaveLength(1)
  expect(await server.end()).toBe(0)
})

test.skipIf(whyNoFaultyDisk)('a disk that hangs rejects writes, and only those, until it responds', async () => {
  const server = await startOnSlowDisk()
  const [token = ''] = server.tokens
  expect(await readiness(server)).toBe('200 ready')
  for (const id of [5, 6]) expect((await createPlant(server.url, token, id)).status).toBe(200)
  server.disk.set(600_000)
  const responses = await Promise.all([1, 2, 3].map((id) => createPlant(server.url, token, id)))
  expect(responses.map(({ status, retryAfter }) => [status, retryAfter])).toEqual(Array(3).fill([503, '5']))
  // Those after them do not wait again.
  const begin = performance.now()
  expect((await createPlant(server.url, token, 4)).status).toBe(503)
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
  for (const id of [1, 2, 3, 4]) expect((await createPlant(server.url, token, id)).status).toBe(200)
  expect(await server.end()).toBe(0)
  const { integrity, ids } = readDatabase(server.file)
  expect([integrity, ids.toSorted()]).toEqual(['ok', [1, 2, 3, 4, 5, 6]])
})

// Nothing ends a thread that waits for a disk, so the process ends itself by SIGKILL.
test.skipIf(whyNoFaultyDisk)('SIGTERM ends a server whose disk hangs', async () => {
  const disk = createSlowDisk()
  const { server, token } = await startWithToken(temporaryFolder(), 'plants', disk.environment)
  disk.set(600_000)
  const creating = createPlant(server.url, token, 1)
  await sleep(200)
  const begin = performance.now()
  expect(await server.end('SIGTERM')).toBe(null)
  expect(performance.now() - begin).toBeLessThan(30_000)
  expect((await creating).status).toBe(503)
})

test('a thread that writes and ends fails its writes with 503 and is started again, and nothing that got a 200 is lost', async () => {
  const folder = temporaryFolder()
  const { server, token } = await startWithToken(folder, 'plants', endThreadOnSignal())
  const writing = startWriting({ url: server.url, token, writers: 8 })
  const stored = () => writing.responses.filter(({ status }) => status === 200)
  const isRejected = () => writing.responses.some(({ status }) => status === 503)
  // Until one was in the middle of a commit.
  for (let end = 0; end < 3 || !isRejected(); end++) {
    const before = stored().length
    await expect.poll(() => stored().length).toBeGreaterThan(before + 50)
    server.signal('SIGUSR2')
  }
  const before = stored().length
  await expect.poll(() => stored().length).toBeGreaterThan(before + 50)
  await writing.stop()
  expect(new Set(writing.responses.map(({ status }) => status))).toEqual(new Set([200, 503]))
  expect(server.output()).toMatch(/the thread that writes has ended: it is started again/)

  await server.end('SIGKILL')
  const file = path.join(folder, 'plants.db')
  expect(existsSync(`${file}-wal`)).toBe(true)
  const { integrity, ids } = readDatabase(file)
  expect(integrity).toBe('ok')
  const present = new Set(ids)
  expect(present.size).toBe(ids.length)
  expect(stored().filter(({ id }) => !present.has(id))).toEqual([])
})
