/**
 * A plant whose request got a 200 is stored once, no list is stale, and requests succeed again without a restart: while
 * PostgreSQL is killed, where it loses commits, after a failover and a full disk.
 */
import { chownSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { query, runSql } from '../../../test/helpers/database/databases.ts'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { fillUp, mountSmallDisk, unmount, whyNoSmallDisk } from '../../../test/helpers/database/small-disk.ts'
import { startFaultyNetwork } from '../../../test/helpers/network/faulty-network.ts'
import { hasPgbouncer, startPgbouncer } from '../../../test/helpers/network/pgbouncer.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { expectReadiness, expectUnavailable, type Load, startLoad } from '../helpers/storage/load.ts'

const whyNoDisk = whyNoSmallDisk()

async function startCluster(options?: Parameters<typeof startPostgresql>[0]): Promise<PostgresqlServer> {
  const postgresql = await startPostgresql(options)
  if (!options?.copyOf) await postgresql.create('plants')
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
    async during(action) {
      await load.during(action, () => {
        stopped = true
        return readers
      })
      for (const { status, retryAfter, body } of load.rejected()) expectUnavailable(status, retryAfter, body)
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
  await load.during(async () => {
    for (const signal of ['SIGKILL', 'SIGKILL', 'SIGINT', 'SIGKILL'] as const) {
      await load.progress()
      await postgresql.stop(signal)
      await postgresql.start()
    }
    await load.progress()
  })
})

const RELOAD = 'SELECT pg_reload_conf()'
const RECONNECT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'plants'`

test('durability switched off under a server and one behind a pooler: both reject writes, and nothing stored is lost', async () => {
  const postgresql = await startCluster({ settings: { wal_writer_delay: '10s' } })
  const administrate = (sql: string) => runSql(postgresql.url('postgres'), sql)
  await using server = await startTestServer({ databaseUrl: postgresql.url('plants'), adminPort: 0 })
  const pooler = hasPgbouncer ? await startPgbouncer(postgresql.port) : postgresql.url('').slice(0, -1)
  await using pooled = await startTestServer({ databaseUrl: `${pooler}/plants?pgbouncer=true`, adminPort: 0 })
  const { id } = await server.createToken()
  const load = startLoad(server, pooled)
  await load.during(async () => {
    for (const [setting, apply] of [
      ['SYSTEM SET synchronous_commit', RELOAD],
      ['SYSTEM SET fsync', RELOAD],
      ['ROLE postgres SET synchronous_commit', RECONNECT],
      ['DATABASE plants SET synchronous_commit', RECONNECT],
    ] as const) {
      await load.progress()
      await administrate(`ALTER ${setting} = off`)
      await administrate(apply)
      const reason = new RegExp(`^503 The database has ${setting.replace(/.* /, '')} = off, .*: set it to on`)
      for (const each of [server, pooled]) await expectReadiness(each, reason)
      await load.rejection()
      const stored = load.stored()
      await load.rejection()
      expect(load.stored()).toBe(stored)
      await expect(server.revoke(id)).rejects.toThrow(/ = off, so that a power failure loses/)
      expect((await pooled.call('/plants', { token: server.token })).status).toBe(200)

      await postgresql.stop('SIGQUIT')
      await postgresql.start()
      await administrate(`ALTER ${setting.replace('SET', 'RESET')}`)
      await administrate(apply)
    }
    await load.progress()
  })
  for (const { status, retryAfter, body } of load.rejected()) expectUnavailable(status, retryAfter, body)
  expect(await server.revoke(id)).toMatchObject({ revokedAt: expect.any(Date) })
})

test('a plant that another program has stored without waiting for the disk is on it once a client gets a 200', async () => {
  const postgresql = await startCluster({ settings: { wal_writer_delay: '10s' } })
  await using server = await startTestServer({ databaseUrl: postgresql.url('plants') })
  const insert = `INSERT INTO "Plant" ("account", "id", "name") VALUES ('alice', '1', 'Ficus'), ('alice', '2', 'Hoya')`
  await runSql(postgresql.url('plants'), `SET synchronous_commit = off; ${insert}`)
  const responses = [await server.post('{"id":1,"name":"Ficus"}')]
  await postgresql.stop('SIGQUIT')
  await postgresql.start()
  // Several ids are another statement.
  await runSql(postgresql.url('plants'), `SET synchronous_commit = off; DELETE FROM "Plant"; ${insert}`)
  const bodies = ['{"id":1,"name":"Ficus"}', '{"id":2,"name":"Hoya"}']
  responses.push(...(await Promise.all(bodies.map((body) => server.post(body)))))
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
  await postgresql.stop('SIGQUIT')
  await postgresql.start()
  expect(await query(postgresql.url('plants'), 'SELECT "name" FROM "Plant"')).toHaveLength(2)
})

test.each([
  ['plants', `INSERT INTO "Plant" ("account", "id", "name") VALUES ('alice', '8', 'lost'), ('alice', '9', 'lost')`],
  ['edits', `UPDATE "Plant" SET "name" = 'lost' WHERE "id" = '1'`],
])('%s of another program that a crash took away are in no list of any server', async (_what, write) => {
  const postgresql = await startCluster({ settings: { wal_writer_delay: '10s' } })
  const databaseUrl = postgresql.url('plants')
  await using server = await startTestServer({ databaseUrl })
  await using other = await startTestServer({ databaseUrl })
  const list = (each: TestServer) =>
    each.call('/plants', { token: server.token }).then((response) => response.json() as Promise<{ name: string }[]>)
  for (const id of [1, 2]) await server.post(`{"id":${id},"name":"Ficus"}`)
  await runSql(databaseUrl, `SET synchronous_commit = off; ${write}`)
  for (const each of [server, other]) expect(await list(each)).toContainEqual({ name: 'lost' })
  await postgresql.stop('SIGQUIT')
  await postgresql.start()

  await runSql(databaseUrl, `UPDATE "Plant" SET "name" = 'Hoya' WHERE "id" = '2'`)
  await expect.poll(async () => (await server.post('{"id":3,"name":"Ficus"}')).status).toBe(200)
  expect((await other.post('{"id":4,"name":"Ficus"}')).status).toBe(200)
  const stored = await query(databaseUrl, 'SELECT "name" FROM "Plant" ORDER BY "seq"')
  for (const each of [server, other]) expect(await list(each)).toEqual(stored)
})

test('a reload between an insert and its commit does not make the commit lose it', async () => {
  const postgresql = await startCluster({ settings: { wal_writer_delay: '10s' } })
  const url = postgresql.url('plants')
  await using server = await startTestServer({ databaseUrl: url })
  await runSql(
    url,
    `CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN NEW; END';
     CREATE TRIGGER sleep BEFORE INSERT ON "Plant" FOR EACH ROW EXECUTE FUNCTION sleep()`,
  )
  const response = server.post('{"id":1,"name":"Ficus"}')
  const SLEEPING = `SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'`
  await expect.poll(async () => (await query(url, SLEEPING)).length, { interval: 10 }).toBe(1)
  await runSql(url, 'ALTER SYSTEM SET synchronous_commit = off')
  await runSql(url, RELOAD)
  const isStored = (await response).status === 200
  await postgresql.stop('SIGQUIT')
  await postgresql.start()
  expect(await query(url, 'SELECT FROM "Plant"')).toHaveLength(isStored ? 1 : 0)
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
  await expect.poll(states).toEqual([{ sync_state: 'sync' }])

  await using network = await startFaultyNetwork(primary.port)
  await using server = await startTestServer({ databaseUrl: network.url('plants'), adminPort: 0 })
  const load = startReadLoad(server)
  await load.during(async () => {
    await load.progress()
    await standby.stop()
    // Its commit waits for the standby, with the lock on the order of plants.
    await expectReadiness(server, /^503 The database (is locked by another transaction|does not respond)/)
    await standby.start()
    await expectReadiness(server, '200 ready')
    await load.progress()
    await primary.stop('SIGKILL')
    network.lead(standby.port)
    await expectReadiness(server, /^503 The database is read-only: DATABASE_URL must lead to the primary/)
    const reading = await server.call('/plants')
    expectUnavailable(reading.status, reading.headers.get('retry-after'), await reading.text())

    await runSql(standby.url('postgres'), 'SELECT pg_promote()')
    await expectReadiness(server, '200 ready')
    await load.progress()
  })
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
  await using server = await startTestServer({ databaseUrl: postgresql.url('plants'), adminPort: 0 })
  await runSql(postgresql.url('plants'), 'ALTER TABLE "Plant" SET TABLESPACE small')
  const load = startReadLoad(server)
  await load.during(async () => {
    await load.progress()
    fillUp(disk)
    await load.rejection()
    await expectReadiness(
      server,
      '503 The database cannot be written because the disk is full: free some space and retry.',
    )
    expect((await server.call('/plants')).status).toBe(200)

    unlinkSync(path.join(disk, 'rest'))
    await load.progress()
    await expectReadiness(server, '200 ready')
  })
})
