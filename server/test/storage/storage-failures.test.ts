/**
 * What the server does if storage fails: writes are rejected, everything else works, and writes resume without a restart
 * once the cause is gone.
 */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { fillUp, mountSmallDisk, unmount, whyNoSmallDisk } from '../../../test/helpers/database/small-disk.ts'
import { connect, runSql } from '../../../test/helpers/database/sqlite.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createPlant, type PlantResponse } from '../../../test/helpers/server/start-writing.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { expectReadiness, type Load, readiness, startLoad } from '../helpers/storage/load.ts'
import { readDatabase } from '../helpers/storage/read-database.ts'

/** Far more than a request takes that does not wait for a lock, in milliseconds. */
const PROMPT = 2_000

const whyNoDisk = whyNoSmallDisk()

test.skipIf(whyNoDisk)('a full disk rejects writes until there is space', async () => {
  const folder = mountSmallDisk()
  onTestFinished(() => unmount(folder))
  fs.writeFileSync(path.join(folder, 'filler'), Buffer.alloc(spaceLeft(folder) / 2))
  await survive(path.join(folder, 'plants.db'), {
    cause: () => fillUp(folder),
    fix: () => fs.unlinkSync(path.join(folder, 'rest')),
    notReady: /^503 The database cannot be written because the disk is full: /,
  })
})

test('a database that another program locks rejects writes until it is unlocked', async () => {
  const file = path.join(temporaryFolder(), 'plants.db')
  let locker: ReturnType<typeof connect> | undefined
  await survive(file, {
    cause() {
      locker = connect(file)
      locker.pragma('busy_timeout = 10000')
      locker.exec('BEGIN EXCLUSIVE')
    },
    fix: () => locker?.close(),
    notReady: /^503 The database is locked by another process: /,
  })
})

test('a database that another program writes to continuously stays ready', async () => {
  const file = path.join(temporaryFolder(), 'plants.db')
  await using server = await startTestServer({ databaseUrl: `file://${file}`, adminPort: 0 })
  const other = connect(file)
  other.pragma('busy_timeout = 10000')
  const end = Date.now() + 4_000
  // Holds the lock most of the time, but never for long.
  const holding = (async () => {
    for (; Date.now() < end; await sleep(10)) {
      other.exec('BEGIN IMMEDIATE')
      await sleep(40)
      other.exec('COMMIT')
    }
  })()
  for (; Date.now() < end; await sleep(100)) expect(await readiness(server)).toBe('200 ready')
  await holding
})

test('once a list meets a damaged database, requests get 503 until a restart on a sound file', async () => {
  const { file, url } = temporaryDatabase()
  const sound = `${file}.sound`
  await using server = await startTestServer({ databaseUrl: url, adminPort: 0 })
  runSql(
    file,
    `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 4000)
     INSERT INTO Plant (account, id, name) SELECT 'alice', x, hex(randomblob(1000)) FROM c;
     PRAGMA wal_checkpoint(TRUNCATE)`,
  )
  fs.copyFileSync(file, sound)
  const { size } = fs.statSync(file)
  fs.truncateSync(file, size / 2)
  fs.appendFileSync(file, randomBytes(size / 2))
  expect(await readPages(server)).toBe(503)
  expectRejected(await createPlant(server.url, server.token, 5_000))
  expect(await readiness(server)).toBe('503 The database is damaged: stop the server and put a backup in its place.')
  await server.close()

  for (const suffix of ['-wal', '-shm']) fs.rmSync(file + suffix, { force: true })
  fs.renameSync(sound, file)
  await using again = await startTestServer({ databaseUrl: url })
  expect((await createPlant(again.url, again.token, 5_000)).status).toBe(200)
})

/** Reads page after page, and returns the status of the last response. */
async function readPages(server: TestServer, query = '?limit=100'): Promise<number> {
  const response = await server.call(`/plants${query}`)
  await response.text()
  const next = /<(.+)>/.exec(response.headers.get('link') ?? '')?.[1]
  return next === undefined ? response.status : readPages(server, next)
}

/** A failure of storage, its fix, and what /readyz responds until then. */
interface Fault {
  cause(): unknown
  fix(): unknown
  notReady: RegExp
}

/** Causes and fixes a failure of a running server, first without writes, then with many. */
async function survive(file: string, { cause, fix, notReady }: Fault): Promise<void> {
  await using server = await startTestServer({ databaseUrl: `file://${file}`, adminPort: 0 })
  await expectReadiness(server, '200 ready')
  await cause()
  await expectReadiness(server, notReady)
  await fix()
  await expectReadiness(server, '200 ready')

  const load = startLoad(server)
  await load.during(async () => {
    await load.progress()
    expect(load.rejected()).toEqual([])
    await cause()
    await Promise.all([load.rejection(), expectReads(server, load), expectReadiness(server, notReady)])
    await fix()
    await load.progress()
  })
  load.rejected().forEach(expectRejected)
  await server.close()
  expect(readDatabase(file).integrity).toBe('ok')
}

/** Expects that requests that write nothing get their usual responses promptly. */
async function expectReads(server: TestServer, load: Load): Promise<void> {
  for (let round = 0; round < 20; round++) {
    const stored = load.stored()
    const begin = performance.now()
    expect((await server.call('/nowhere')).status).toBe(404)
    expect((await server.call('/plants', { token: null })).status).toBe(401)
    expect(performance.now() - begin).toBeLessThan(PROMPT)
    const list = await server.call('/plants')
    expect(list.status).toBe(200)
    expect(((await list.json()) as unknown[]).length).toBeGreaterThanOrEqual(stored)
  }
}

function expectRejected({ status, retryAfter, body }: PlantResponse): void {
  const { error, message } = JSON.parse(body)
  expect([500, 503]).toContain(status)
  expect(error).toBe((status ?? 0) * 100)
  expect(message).not.toMatch(/sqlite|\/|plants\.db/i)
  if (status === 503) expect(retryAfter).toMatch(/^[1-9]\d*$/)
}

function spaceLeft(folder: string): number {
  const { bavail, bsize } = fs.statfsSync(folder)
  return bavail * bsize
}
