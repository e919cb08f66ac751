/**
 * What the server does if PostgreSQL or the network to it fails: what may run twice is retried, everything else gets a
 * 503, `/readyz` and the metrics say so, and requests succeed again without a restart once the cause is gone. Where
 * PostgreSQL loses commits, and after a failover, what got a 200 is stored once, and no list is stale. It is killed in
 * histories.test.ts.
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { openConnection, query, runSql, startOwnPostgresql } from '../../../test/helpers/database/databases.ts'
import { type Moment, startFaultyNetwork } from '../../../test/helpers/network/faulty-network.ts'
import { hasPgbouncer, startPgbouncer } from '../../../test/helpers/network/pgbouncer.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { afterFile } from '../../../test/helpers/temporary.ts'
import { expectReadiness, expectUnavailable, readiness, startLoad } from '../helpers/load.ts'
import { readMetric } from '../helpers/read-metric.ts'

/** Longer than a request may take while PostgreSQL is silent, and less than a hang, in milliseconds. */
const MAX_WAIT = 10_000

const postgresql = await startOwnPostgresql()
const network = await startFaultyNetwork(postgresql.port)
afterFile(network[Symbol.asyncDispose])
/** A server whose database is behind a network that can fail, and a connection past it as another program has it. */
await postgresql.create('plants')
const server = await startTestServer({ databaseUrl: network.url('plants'), adminPort: 0 })
const connection = await openConnection(postgresql.url('plants'))
afterFile(connection.close)
beforeEach(() => connection.run('TRUNCATE "Plant"'))

const createPlant = (id: number, at = server, token = at.token) =>
  at.post(JSON.stringify({ id, name: `plant ${id}` }), { token })
const namesUpTo = (count: number) => Array.from({ length: count }, (_, index) => `plant ${index + 1}`)

async function listNames(token = server.token): Promise<string[]> {
  const response = await server.call('/plants', { token })
  expect(response.status).toBe(200)
  return ((await response.json()) as { name: string }[]).map(({ name }) => name)
}

async function expectRejected(response: Response, retryAfter: string): Promise<void> {
  expect(response.headers.get('retry-after')).toBe(retryAfter)
  expectUnavailable({ status: response.status, retryAfter, body: await response.text() })
}

/** Expects that requests succeed, that `/readyz` says so, and that the server was not restarted for it. */
async function expectRecovery(id: number, at = server): Promise<void> {
  await expect.poll(async () => (await createPlant(id, at)).status).toBe(200)
  await expectReadiness(at, '200 ready')
  expect((await fetch(`${at.adminUrl}/livez`)).status).toBe(200)
}

const MOMENTS: Moment[] = ['before', 'during', 'after']
test.each(MOMENTS)('of a connection lost %s a commit, each plant is stored once, with a 200', async (moment) => {
  for (const id of [1, 2, 3]) {
    const cut = network.cutOnce(moment, `plant ${id}`)
    expect((await createPlant(id)).status).toBe(200)
    await cut
  }
  const { token } = await server.createToken({ account: 'many' })
  const cut = network.cutOnce(moment, 'plant 25')
  const responses = await Promise.all(Array.from({ length: 50 }, (_, index) => createPlant(index + 1, server, token)))
  expect(responses.map(({ status }) => status)).toEqual(Array(50).fill(200))
  await cut
  expect((await listNames(token)).sort()).toEqual(namesUpTo(50).sort())

  const listed = network.cutOnce(moment, 'alice')
  expect(await listNames()).toEqual(namesUpTo(3))
  await listed
  expect(await readiness(server)).toBe('200 ready')
})

test('a silent network: /readyz names it within seconds, requests get a 503, then all recovers', async () => {
  await using silence = await startFaultyNetwork(postgresql.port)
  await using silent = await startTestServer({ databaseUrl: silence.url('plants'), adminPort: 0 })
  // Several idle connections, each of which will be silent.
  await Promise.all(Array.from({ length: 8 }, (_, index) => silent.call(`/plants?limit=${index + 1}`)))
  silence.stall()
  const begin = performance.now()
  const responses = [createPlant(1, silent), silent.call('/plants'), silent.call('/plants?limit=1')]
  await expectReadiness(silent, /^503 The database (does not respond|keeps all 8 connections)/)
  for (const response of responses) await expectRejected(await response, '5')
  expect(performance.now() - begin).toBeLessThan(MAX_WAIT)
  expect(await readMetric(silent, 'plant_store_ready')).toBe(0)
  silence.resume()
  // The other idle connections are closed with the first one that was silent.
  const recovery = performance.now()
  await expectRecovery(1, silent)
  expect(performance.now() - recovery).toBeLessThan(MAX_WAIT)
  expect(await (await silent.call('/plants')).json()).toEqual([{ name: 'plant 1' }])
})

test('a statement that PostgreSQL aborts runs again; always aborted, it gets a 503 with Retry-After', async () => {
  /** Makes inserts fail this often. */
  const failOften = (code: string, times: number) =>
    connection.run(`
      DROP SEQUENCE IF EXISTS failures; CREATE SEQUENCE failures;
      CREATE OR REPLACE FUNCTION abort() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('failures') <= ${times} THEN RAISE 'aborted' USING ERRCODE = '${code}'; END IF;
        RETURN NEW;
      END $$;
      CREATE OR REPLACE TRIGGER abort BEFORE INSERT ON "Plant" FOR EACH ROW EXECUTE FUNCTION abort()`)

  // A deadlock, no more connections, and what a statement gets whose table a migration has changed.
  for (const [index, code] of ['40001', '40P01', '53300', '0A000'].entries()) {
    await failOften(code, 3)
    expect((await createPlant(index + 1)).status, code).toBe(200)
    expect(await connection.query(`SELECT last_value::int AS attempts FROM failures`)).toEqual([{ attempts: 4 }])
  }
  await failOften('40001', 1e9)
  await expectRejected(await createPlant(5), '1')
  await connection.run('DROP FUNCTION abort CASCADE')
  await expectRecovery(5)
  expect(await listNames()).toEqual(namesUpTo(5))
})

/** Starts a server that loses in a crash what was committed without waiting for the disk. */
async function startLosingCluster() {
  const postgresql = await startOwnPostgresql({ settings: { wal_writer_delay: '10s' } })
  return { ...postgresql, databaseUrl: await postgresql.create('plants'), crash: () => postgresql.restart('SIGQUIT') }
}

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
  const primary = await startOwnPostgresql({ settings: replication })
  await primary.create('plants')
  await primary.stop()
  const standby = await startOwnPostgresql({
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
