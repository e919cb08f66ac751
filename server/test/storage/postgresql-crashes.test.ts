/**
 * A plant whose request got a 200 is stored once, no list is stale, and requests succeed again without a restart: while
 * PostgreSQL is killed, after a failover and a full disk.
 */
import { chownSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { query, runSql } from '../../../test/helpers/database/databases.ts'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { fillUp, mountSmallDisk, unmount, whyNoSmallDisk } from '../../../test/helpers/database/small-disk.ts'
import { startFaultyNetwork } from '../../../test/helpers/network/faulty-network.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { expectUnavailable, type Load, PATIENCE, readiness, startLoad } from '../helpers/storage/load.ts'

vi.setConfig({ testTimeout: 240_000 })

const whyNoDisk = whyNoSmallDisk()

async function startCluster(options?: Parameters<typeof startPostgresql>[0]): Promise<PostgresqlServer> {
  const postgresql = await startPostgresql(options)
  onTestFinished(() => postgresql.remove())
  return postgresql
}

/** Starts writers, and readers that expect what was acknowledged before their request, always in the same order. */
function startReadLoad(server: TestServer, ...others: TestServer[]): Load {
  const load = startLoad(server, ...others)
  const lists: string[][] = []
  let stopped = false

  async function read({ url }: TestServer): Promise<void> {
    while (!stopped) {
      const before = load.stored()
      const response = await fetch(`${url}/plants`, { headers: { authorization: `Bearer ${server.token}` } })
      const body = await response.text().catch(() => undefined)
      if (response.status !== 200) expectUnavailable(response.status, response.headers.get('retry-after'), body ?? '')
      else if (body !== undefined) {
        const names = (JSON.parse(body) as { name: string }[]).map(({ name }) => name)
        expect(names.length).toBeGreaterThanOrEqual(before)
        lists.push(names)
      }
      await sleep(5)
    }
  }

  const readers = Promise.all([server, server, ...others].map(read))
  return {
    ...load,
    async stop() {
      stopped = true
      await Promise.all([load.stop(), readers])
      for (const { status, retryAfter, body } of load.rejected()) expectUnavailable(status, retryAfter, body)
    },
    async expectConsistent() {
      await load.expectConsistent()
      const final = ((await (await server.call('/plants')).json()) as { name: string }[]).map(({ name }) => name)
      for (const names of lists) expect(names).toEqual(final.slice(0, names.length))
    },
  }
}

test('PostgreSQL killed or stopped again and again under two servers: no list is stale, no plant lost or doubled', async () => {
  const postgresql = await startCluster()
  const databaseUrl = postgresql.url('plants')
  await using server = await startTestServer({ databaseUrl })
  await using other = await startTestServer({ databaseUrl })
  const load = startReadLoad(server, other)
  try {
    for (const signal of ['SIGKILL', 'SIGKILL', 'SIGINT', 'SIGKILL'] as const) {
      await load.progress()
      await postgresql.stop(signal)
      await postgresql.start()
    }
    await load.progress()
  } finally {
    await load.stop()
  }
  await load.expectConsistent()
})

test('a failover to a standby: nothing acknowledged is lost, writes wait for the new primary', async () => {
  const replication = { wal_level: 'replica', max_wal_senders: '4', hot_standby: 'on' }
  const primary = await startCluster({ settings: replication })
  await primary.stop()
  const standby = await startCluster({
    copyOf: primary,
    settings: { primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres application_name=standby` },
    prepare: (folder) => writeFileSync(path.join(folder, 'standby.signal'), ''),
  })
  await primary.start()
  await runSql(primary.url('postgres'), `ALTER SYSTEM SET synchronous_standby_names = 'standby'`)
  await runSql(primary.url('postgres'), 'SELECT pg_reload_conf()')
  const states = () => query(primary.url('postgres'), 'SELECT sync_state FROM pg_stat_replication')
  await expect.poll(states, PATIENCE).toEqual([{ sync_state: 'sync' }])

  await using network = await startFaultyNetwork(primary.port)
  await using server = await startTestServer({ databaseUrl: network.url('plants'), adminPort: 0 })
  const load = startReadLoad(server)
  try {
    await load.progress()
    await standby.stop()
    await expect
      .poll(() => readiness(server), PATIENCE)
      .toBe('503 A commit waits for the synchronous standby: start it, or correct synchronous_standby_names.')
    await standby.start()
    await expect.poll(() => readiness(server), PATIENCE).toBe('200 ready')
    await load.progress()
    await primary.stop('SIGKILL')
    network.lead(standby.port)
    await expect
      .poll(() => readiness(server), PATIENCE)
      .toMatch(/^503 The database is read-only: DATABASE_URL must lead to the primary/)
    const reading = await server.call('/plants')
    expectUnavailable(reading.status, reading.headers.get('retry-after'), await reading.text())

    await runSql(standby.url('postgres'), 'SELECT pg_promote()')
    await expect.poll(() => readiness(server), PATIENCE).toBe('200 ready')
    await load.progress()
  } finally {
    await load.stop()
  }
  await load.expectConsistent()
})

test.skipIf(whyNoDisk)('a full disk rejects writes until there is space, and lists are still read', async () => {
  const postgresql = await startCluster()
  const disk = mountSmallDisk()
  // After the server that has files on it, which is registered before.
  onTestFinished(() => unmount(disk))
  onTestFinished(() => postgresql.stop())
  const { uid, gid } = statSync(postgresql.folder)
  chownSync(disk, uid, gid)
  await runSql(postgresql.url('postgres'), `CREATE TABLESPACE small LOCATION '${disk}'`)
  await runSql(postgresql.url('postgres'), 'CREATE DATABASE plants TEMPLATE template0')
  await using server = await startTestServer({ databaseUrl: postgresql.url('plants'), adminPort: 0 })
  await runSql(postgresql.url('plants'), 'ALTER TABLE "Plant" SET TABLESPACE small')
  const load = startReadLoad(server)
  try {
    await load.progress()
    fillUp(disk)
    await load.rejection()
    await expect
      .poll(() => readiness(server), PATIENCE)
      .toBe('503 The database cannot be written because the disk is full: free some space and retry.')
    expect((await server.call('/plants')).status).toBe(200)

    unlinkSync(path.join(disk, 'rest'))
    await load.progress()
    await expect.poll(() => readiness(server), PATIENCE).toBe('200 ready')
  } finally {
    await load.stop()
  }
  await load.expectConsistent()
})
