/**
 * What goes wrong with the disk while the server runs: writes are refused and never called stored when they are not,
 * everything else goes on, and so do writes, without a restart, once the cause is gone.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { mountSmallDisk, refusalOf, unmount, whyNoSmallDisk } from '../../../test/helpers/database/small-disk.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { type Answer, createPlant, startWriting, type Writing } from '../../../test/helpers/server/start-writing.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { readDatabase } from '../helpers/storage/read-database.ts'

const WRITERS = 8
/** How long trouble may take to show and to go, in milliseconds: much longer than it does. */
const PATIENCE = { timeout: 15_000, interval: 10 }
/** Far more than a request that needs no lock takes while another waits for one, in milliseconds. */
const PROMPT = 2_000

const mountRefusal = whyNoSmallDisk()
if (mountRefusal) console.log(`A full disk is not tested, since none can be mounted here: ${mountRefusal}`)
const immutableRefusal = refusalOf(tryImmutable)
if (immutableRefusal) console.log(`A read-only file is not tested, since none can be made here: ${immutableRefusal}`)

test.skipIf(mountRefusal)('a full disk', async () => {
  const folder = mountSmallDisk()
  onTestFinished(() => unmount(folder))
  writeFileSync(path.join(folder, 'filler'), Buffer.alloc(spaceLeft(folder) / 2))
  await survive(path.join(folder, 'plants.db'), {
    cause: () => fillUp(folder),
    mend: () => unlinkSync(path.join(folder, 'rest')),
    notReady: /^The disk of the database is full: /,
  })
})

test.skipIf(immutableRefusal)('a file that turns read-only', async () => {
  const file = path.join(temporaryFolder(), 'plants.db')
  const files = [file, `${file}-wal`]
  const mend = () => setImmutable(files.filter(existsSync), false)
  onTestFinished(mend)
  await survive(file, { cause: () => setImmutable(files, true), mend, notReady: /^The (disk of the )?database / })
})

test.each(['', '-wal'])('a file "plants.db%s" that is moved away and back', async (suffix) => {
  const file = path.join(temporaryFolder(), 'plants.db')
  await survive(file, {
    cause: () => renameSync(file + suffix, `${file}-elsewhere`),
    mend: () => renameSync(`${file}-elsewhere`, file + suffix),
    notReady: /^The database file was moved, deleted or replaced: /,
  })
})

test('a database that another process locks', async () => {
  const file = path.join(temporaryFolder(), 'plants.db')
  let locker: ChildProcess | undefined
  onTestFinished(() => void locker?.kill('SIGKILL'))
  await survive(file, {
    cause: async () => {
      locker = await lock(file)
    },
    mend: () => void locker?.kill('SIGKILL'),
    notReady: /^Another process has locked the database for too long: /,
  })
})

test('a database that another process writes to all the time stays ready', async () => {
  const file = path.join(temporaryFolder(), 'plants.db')
  await using server = await startTestServer({ databaseUrl: `file://${file}`, adminPort: 0 })
  const other = await lock(file, RELEASE_OFTEN)
  onTestFinished(() => void other.kill('SIGKILL'))
  const end = Date.now() + 4_000
  while (Date.now() < end) {
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200)
    await sleep(100)
  }
})

test('a database that is deleted: no write is called stored, and the server serves again when it is started anew', async () => {
  const file = path.join(temporaryFolder(), 'plants.db')
  const databaseUrl = `file://${file}`
  await using server = await startTestServer({ databaseUrl, adminPort: 0 })
  expect((await createPlant(server.url, server.token, 1)).status).toBe(200)
  expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200)
  rmSync(file)
  await expect.poll(() => fetch(`${server.adminUrl}/readyz`).then(({ status }) => status), PATIENCE).toBe(503)
  for (let id = 2; id < 20; id++) expectRefused(await createPlant(server.url, server.token, id))
  // A restored copy is another file, and the log beside it is not its own.
  await (await startTestServer({ databaseUrl: `file://${file}.copy` })).close()
  renameSync(`${file}.copy`, file)
  expectRefused(await createPlant(server.url, server.token, 20))
  await sleep(1_100)
  expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(503)
  await server.close()

  await using again = await startTestServer({ databaseUrl })
  expect((await createPlant(again.url, again.token, 21)).status).toBe(200)
  expect(readDatabase(file)).toEqual({ integrity: 'ok', ids: [21] })
})

/** Holds the lock nearly all the time, but never for long. */
const RELEASE_OFTEN = `
  const release = () => {
    database.exec('COMMIT')
    setTimeout(hold, 10)
  }
  const hold = () => {
    database.exec('BEGIN IMMEDIATE')
    setTimeout(release, 40)
  }
  release()`

/** What goes wrong, and how it is mended. */
interface Trouble {
  cause(): unknown
  mend(): unknown
  /** What /readyz says meanwhile. */
  notReady: RegExp
}

/** Lets trouble come and go under a server, first while nobody writes to it, then while many do. */
async function survive(file: string, trouble: Trouble): Promise<void> {
  await using server = await startTestServer({ databaseUrl: `file://${file}`, adminPort: 0 })
  await expectReadiness(server, trouble)
  await surviveWriting(server, file, trouble)
}

async function expectReadiness({ adminUrl }: TestServer, { cause, mend, notReady }: Trouble): Promise<void> {
  const readiness = async () => {
    const response = await fetch(`${adminUrl}/readyz`)
    return `${response.status} ${await response.text()}`
  }
  expect(await readiness()).toBe('200 ready\n')
  await cause()
  await expect.poll(readiness, PATIENCE).toMatch(new RegExp(`^503 ${notReady.source.slice(1)}`))
  await mend()
  await expect.poll(readiness, PATIENCE).toBe('200 ready\n')
}

async function surviveWriting(server: TestServer, file: string, trouble: Trouble): Promise<void> {
  const { cause, mend, notReady } = trouble
  const writing = startWriting({ url: server.url, token: server.token, writers: WRITERS })
  const stored = () => writing.answers.filter(({ status }) => status === 200)
  const refused = () => writing.answers.filter(({ status }) => status !== 200)
  try {
    await expect.poll(() => stored().length, PATIENCE).toBeGreaterThan(100)
    expect(refused()).toEqual([])

    await cause()
    await Promise.all([
      expect.poll(() => refused().length, PATIENCE).toBeGreaterThan(WRITERS),
      expectOthersAnswered(server, writing),
      expect
        .poll(() => fetch(`${server.adminUrl}/readyz`).then((response) => response.text()), PATIENCE)
        .toMatch(notReady),
    ])

    await mend()
    const before = stored().length
    await expect.poll(() => stored().length, PATIENCE).toBeGreaterThan(before + 100)
  } finally {
    await writing.stop()
  }
  refused().forEach(expectRefused)
  const listed = (await (await server.call('/plants')).json()) as unknown[]
  await server.close()

  const { integrity, ids } = readDatabase(file)
  const present = new Set(ids)
  expect(integrity).toBe('ok')
  expect(present.size).toBe(ids.length)
  expect(stored().filter(({ id }) => !present.has(id))).toEqual([])
  expect(listed.length).toBe(ids.length)
}

/** Meanwhile everything that writes nothing is answered as ever, and promptly. */
async function expectOthersAnswered(server: TestServer, writing: Writing): Promise<void> {
  for (let round = 0; round < 20; round++) {
    const stored = writing.answers.filter(({ status }) => status === 200).length
    const begin = performance.now()
    expect((await server.call('/nowhere')).status).toBe(404)
    expect((await server.call('/plants', { token: null })).status).toBe(401)
    expect(performance.now() - begin).toBeLessThan(PROMPT)
    const list = await server.call('/plants')
    expect(list.status).toBe(200)
    expect(((await list.json()) as unknown[]).length).toBeGreaterThanOrEqual(stored)
  }
}

function expectRefused({ status, retryAfter, body }: Answer): void {
  const { error, message } = JSON.parse(body)
  expect([500, 503]).toContain(status)
  expect(error).toBe((status ?? 0) * 100)
  expect(message).not.toMatch(/sqlite|\/|plants\.db/i)
  if (status === 503) expect(retryAfter).toMatch(/^[1-9]\d*$/)
}

function spaceLeft(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Takes all the space that is left, for good. */
function fillUp(folder: string): void {
  const descriptor = openSync(path.join(folder, 'rest'), 'w')
  const piece = Buffer.alloc(4096)
  try {
    while (true) writeSync(descriptor, piece)
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' })
  } finally {
    closeSync(descriptor)
  }
}

/** Nobody may write to an immutable file, not even root, and not even who has it open. */
function setImmutable(files: string[], immutable: boolean): void {
  if (files.length > 0) execFileSync('chattr', [immutable ? '+i' : '-i', ...files], { stdio: 'pipe' })
}

function tryImmutable(): void {
  const file = path.join(temporaryFolder(), 'file')
  const descriptor = openSync(file, 'w')
  try {
    setImmutable([file], true)
    const refusal = refusalOf(() => writeSync(descriptor, 'x'))
    setImmutable([file], false)
    if (!refusal) throw new Error('this file system lets who has an immutable file open write to it')
  } finally {
    closeSync(descriptor)
  }
}

/** Locks a database in a process of its own, until that ends. */
async function lock(file: string, then = ''): Promise<ChildProcess> {
  const script = `
    const database = new (require('better-sqlite3'))(process.argv[1], { timeout: 10_000 })
    database.exec('BEGIN EXCLUSIVE')
    console.log('locked')
    setInterval(() => {}, 1_000)
    ${then}`
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const child = spawn(process.execPath, ['-e', script, file], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return child
}
