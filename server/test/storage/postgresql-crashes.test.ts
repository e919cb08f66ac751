/**
 * A plant whose request got a 200 is stored once, no list is stale, and requests succeed again without a restart: where PostgreSQL
 * loses commits, and after a failover. It is killed in histories.test.ts.
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { query, runSql, startOwnPostgresql } from '../../../test/helpers/database/databases.ts'
import type { PostgresqlOptions } from '../../../test/helpers/database/postgresql.ts'
import { startFaultyNetwork } from '../../../test/helpers/network/faulty-network.ts'
import { hasPgbouncer, startPgbouncer } from '../../../test/helpers/network/pgbouncer.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { expectReadiness, startLoad } from '../helpers/storage/load.ts'

async function startCluster(options?: PostgresqlOptions) {
  const postgresql = await startOwnPostgresql(options)
  if (!options?.copyOf) await postgresql.create('plants')
  return {
    ...postgresql,
    databaseUrl: postgresql.url('plants'),
    administrate: (sql: string) => runSql(postgresql.url('postgres'), sql),
    async crash() {
      await postgresql.stop('SIGQUIT')
      await postgresql.start()
    },
  }
}

/** Starts a server that loses in a crash what was committed without waiting for the disk. */
const startLosingCluster = () => startCluster({ settings: { wal_writer_delay: '10s' } })

const RELOAD = 'SELECT pg_reload_conf()'
const RECONNECT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'plants'`

test('durability switched off under a server and one behind a pooler: both reject writes, and nothing stored is lost', async () => {
  const { databaseUrl, administrate, crash, port, url } = await startLosingCluster()
  await using server = await startTestServer({ databaseUrl, adminPort: 0 })
  const pooler = hasPgbouncer ? await startPgbouncer(port) : url('').slice(0, -1)
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

      await crash()
      await administrate(`ALTER ${setting.replace('SET', 'RESET')}`)
      await administrate(apply)
    }
    await load.progress()
  })
  expect(await server.revoke(id)).toMatchObject({ revokedAt: expect.any(Date) })
})

test('a plant that another program has stored without waiting for the disk is on it once a client gets a 200', async () => {
  const { databaseUrl, crash } = await startLosingCluster()
  await using server = await startTestServer({ databaseUrl })
  const insert = `INSERT INTO "Plant" ("account", "id", "name") VALUES ('alice', '1', 'Ficus'), ('alice', '2', 'Hoya')`
  const bodies = ['{"id":1,"name":"Ficus"}', '{"id":2,"name":"Hoya"}']
  // Several ids are another statement.
  for (const posted of [bodies.slice(0, 1), bodies]) {
    await runSql(databaseUrl, `SET synchronous_commit = off; DELETE FROM "Plant"; ${insert}`)
    const responses = await Promise.all(posted.map((body) => server.post(body)))
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    await crash()
    expect(await query(databaseUrl, 'SELECT "name" FROM "Plant"')).toHaveLength(2)
  }
})

test.each([
  ['plants', `INSERT INTO "Plant" ("account", "id", "name") VALUES ('alice', '8', 'lost'), ('alice', '9', 'lost')`],
  ['edits', `UPDATE "Plant" SET "name" = 'lost' WHERE "id" = '1'`],
])('%s of another program that a crash took away are in no list of any server', async (_what, write) => {
  const { databaseUrl, crash } = await startLosingCluster()
  await using server = await startTestServer({ databaseUrl })
  await using other = await startTestServer({ databaseUrl })
  const list = async (each: TestServer) => (await each.call('/plants', { token: server.token })).json()
  for (const id of [1, 2]) await server.post(`{"id":${id},"name":"Ficus"}`)
  await runSql(databaseUrl, `SET synchronous_commit = off; ${write}`)
  for (const each of [server, other]) expect(await list(each)).toContainEqual({ name: 'lost' })
  await crash()

  await runSql(databaseUrl, `UPDATE "Plant" SET "name" = 'Hoya' WHERE "id" = '2'`)
  await expect.poll(async () => (await server.post('{"id":3,"name":"Ficus"}')).status).toBe(200)
  expect((await other.post('{"id":4,"name":"Ficus"}')).status).toBe(200)
  const stored = await query(databaseUrl, 'SELECT "name" FROM "Plant" ORDER BY "seq"')
  for (const each of [server, other]) expect(await list(each)).toEqual(stored)
})

test('a reload between an insert and its commit does not make the commit lose it', async () => {
  const { databaseUrl, administrate, crash } = await startLosingCluster()
  await using server = await startTestServer({ databaseUrl })
  await runSql(
    databaseUrl,
    `CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN NEW; END';
     CREATE TRIGGER sleep BEFORE INSERT ON "Plant" FOR EACH ROW EXECUTE FUNCTION sleep()`,
  )
  const response = server.post('{"id":1,"name":"Ficus"}')
  const SLEEPING = `SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'`
  await expect.poll(async () => (await query(databaseUrl, SLEEPING)).length, { interval: 10 }).toBe(1)
  await administrate('ALTER SYSTEM SET synchronous_commit = off')
  await administrate(RELOAD)
  const isStored = (await response).status === 200
  await crash()
  expect(await query(databaseUrl, 'SELECT FROM "Plant"')).toHaveLength(isStored ? 1 : 0)
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
  await primary.administrate(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`)
  await primary.administrate(RELOAD)
  const states = () => query(primary.url('postgres'), 'SELECT sync_state FROM pg_stat_replication')
  await expect.poll(states).toEqual([{ sync_state: 'sync' }])

  await using network = await startFaultyNetwork(primary.port)
  await using server = await startTestServer({ databaseUrl: network.url('plants'), adminPort: 0 })
  const load = startLoad(server)
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
    expect((await server.call('/plants')).status).toBe(503)

    await standby.administrate('SELECT pg_promote()')
    await expectReadiness(server, '200 ready')
    await load.progress()
  })
})
