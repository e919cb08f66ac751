/** What the server does while its disk is slow or hangs, and when the process that writes to it ends. */
import { existsSync, mkdtempSync, renameSync, symlinkSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrateDatabase } from '@plant-store/prisma'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  createFailingFork,
  createSlowDisk,
  type Fault,
  whyNoFaultyDisk,
} from '../../../test/helpers/database/faulty-disk.ts'
import { query, runSql } from '../../../test/helpers/database/sqlite.ts'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createPlant, startWriting } from '../../../test/helpers/server/start-writing.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { childrenOf } from '../../bench/cpu-time.ts'
import { expectReadiness, readiness } from '../helpers/storage/load.ts'
import { readDatabase } from '../helpers/storage/read-database.ts'

if (whyNoFaultyDisk) console.log(`A slow disk is not tested, since none can be imitated: ${whyNoFaultyDisk}`)

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
  server.disk.set(600_000)
  const responses = await Promise.all([1, 2, 3].map((id) => createPlant(server.url, server.token, id)))
  expect(responses.map(({ status, retryAfter }) => [status, retryAfter])).toEqual(Array(3).fill([503, '5']))
  // Those after them do not wait again.
  const begin = performance.now()
  expect((await createPlant(server.url, server.token, 4)).status).toBe(503)
  expect(performance.now() - begin).toBeLessThan(1_500)
  expect((await server.call('/plants')).status).toBe(200)
  expect(await readiness(server)).toBe(
    "503 The database's disk does not respond: check that it is mounted and not overloaded.",
  )

  server.disk.set(0)
  await expectReadiness(server, '200 ready')
  for (const id of [1, 2, 3, 4]) expect((await createPlant(server.url, server.token, id)).status).toBe(200)
  await server.close()
  const { integrity, ids } = readDatabase(server.file)
  expect([integrity, ids.toSorted()]).toEqual(['ok', [1, 2, 3, 4]])
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

test.skipIf(whyNoFaultyDisk)(
  'a writer that cannot be started or open the database again fails its writes with 503 and the reason until it can',
  async () => {
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
  },
)

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
