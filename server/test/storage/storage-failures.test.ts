/**
 * What the server does if storage fails: writes are rejected, everything else works, and writes resume without a
 * restart once the cause is gone.
 */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newDatabase, openConnection, runSql, startOwnPostgresql } from '../../../test/helpers/database/databases.ts'
import { fillUp, mountSmallDisk, unmount, whyNoSmallDisk } from '../../../test/helpers/database/disks.ts'
import { createPlant } from '../../../test/helpers/server/call-plants.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary.ts'
import { expectIntegrity, expectReadiness, expectUnavailable, readiness, startLoad } from '../helpers/load.ts'
import { readMetric } from '../helpers/read-metric.ts'

const whyNoDisk = whyNoSmallDisk()

function fullDisk() {
  const folder = mountSmallDisk()
  onTestFinished(() => unmount(folder))
  return {
    folder,
    cause: () => fillUp(folder),
    fix: () => fs.unlinkSync(path.join(folder, 'rest')),
    notReady: /^503 The database cannot be written because the disk is full: free some space and retry\.$/,
    reason: 'disk-full',
  }
}

/** Returns a database, its failure, the fix, what `/readyz` responds until then, and whether it finds it without a write. */
function fillDiskOfSqlite() {
  const { folder, ...disk } = fullDisk()
  const { bavail, bsize } = fs.statfsSync(folder)
  fs.writeFileSync(path.join(folder, 'filler'), Buffer.alloc((bavail * bsize) / 2))
  return { ...disk, databaseUrl: `file:${path.join(folder, 'plants.db')}`, isFoundIdle: true }
}

async function fillDiskOfPostgresql() {
  const postgresql = await startOwnPostgresql()
  const databaseUrl = await postgresql.create('plants')
  const { folder, ...disk } = fullDisk()
  // Its files are on the disk.
  onTestFinished(() => postgresql.stop())
  const { uid, gid } = fs.statSync(postgresql.folder)
  fs.chownSync(folder, uid, gid)
  await runSql(databaseUrl, `CREATE TABLESPACE small LOCATION '${folder}'`)
  await runSql(databaseUrl, 'ALTER TABLE "Plant" SET TABLESPACE small')
  return { ...disk, databaseUrl, isFoundIdle: false }
}

async function lock(databaseUrl: string, begin: string, holder: string) {
  const other = await openConnection(databaseUrl)
  onTestFinished(other.close)
  return {
    databaseUrl,
    cause: () => other.run(begin),
    fix: () => other.run('ROLLBACK'),
    notReady: new RegExp(`^503 The database is locked by another ${holder}: `),
    reason: 'locked',
    isFoundIdle: true,
  }
}

const lockSqlite = async () => lock(await newDatabase(), 'BEGIN EXCLUSIVE', 'process')
const INSERT = `BEGIN; INSERT INTO "Plant" ("account", "id", "name") VALUES ('bob', '1', 'x')`
const lockPostgresql = async () => lock(await (await startOwnPostgresql()).create('plants'), INSERT, 'transaction')

test.for([
  ['a full disk of SQLite', whyNoDisk, fillDiskOfSqlite],
  ['a full disk of PostgreSQL', whyNoDisk, fillDiskOfPostgresql],
  ['a lock of another program on SQLite', undefined, lockSqlite],
  ['an open transaction of another program on PostgreSQL', undefined, lockPostgresql],
] as const)('%s rejects writes, and nothing else, until it is gone', async ([, whyNot, prepare], { skip }) => {
  skip(whyNot !== undefined, whyNot)
  const { databaseUrl, cause, fix, notReady, reason, isFoundIdle } = await prepare()
  await using server = await startTestServer({ databaseUrl, adminPort: 0 })
  await expectReadiness(server, '200 ready')
  if (isFoundIdle) {
    await cause()
    await expectReadiness(server, notReady)
    await fix()
    await expectReadiness(server, '200 ready')
  }

  const load = startLoad(server)
  await load.during(async () => {
    await load.progress()
    expect(load.rejected()).toEqual({ plants: 0, lists: 0 })
    await cause()
    await Promise.all([load.rejection(), expectReadiness(server, notReady)])
    expect((await server.call('/plants', { token: null })).status).toBe(401)
    await fix()
    await load.progress()
  })
  expect(load.rejected().lists).toBe(0)
  const counted = (each: string) => readMetric(server, `plant_store_writes_rejected_total{reason="${each}"}`)
  expect(await counted(reason)).toBeGreaterThan(0)
  // On a busy machine, PostgreSQL may give a lock up only after the write is late.
  const counts = await Promise.all([...new Set([reason, 'unavailable'])].map(counted))
  expect(counts.reduce((sum, count) => sum + count)).toBe(load.rejected().plants)
  await server.close()
  if (databaseUrl.startsWith('file:')) await expectIntegrity(new URL(databaseUrl).pathname)
})

test('once a list meets a damaged database, requests get 503 until a restart on a sound file', async () => {
  const { file, url } = temporaryDatabase()
  const sound = `${file}.sound`
  await using server = await startTestServer({ databaseUrl: url, adminPort: 0 })
  await runSql(
    url,
    `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 4000)
     INSERT INTO Plant (account, id, name) SELECT 'alice', x, hex(randomblob(1000)) FROM c;
     PRAGMA wal_checkpoint(TRUNCATE)`,
  )
  fs.copyFileSync(file, sound)
  const { size } = fs.statSync(file)
  fs.truncateSync(file, size / 2)
  fs.appendFileSync(file, randomBytes(size / 2))
  // The list that meets it ends there.
  await server
    .call('/plants')
    .then((response) => response.text())
    .catch(() => {})
  expect((await server.call('/plants')).status).toBe(503)
  expectUnavailable(await createPlant(server.url, server.token, 5_000))
  expect(await readiness(server)).toBe('503 The database is damaged: stop the server and put a backup in its place.')
  await server.close()

  for (const suffix of ['-wal', '-shm']) fs.rmSync(file + suffix, { force: true })
  fs.renameSync(sound, file)
  await using again = await startTestServer({ databaseUrl: url })
  expect((await createPlant(again.url, again.token, 5_000)).status).toBe(200)
})
