/**
 * What the server does if PostgreSQL or the network to it fails: what may run twice is retried, everything else gets a 503,
 * `/readyz` names the reason, and requests succeed again without a restart once the cause is gone.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Connection, openConnection, runSql } from '../../../test/helpers/database/databases.ts'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { type FaultyNetwork, type Moment, startFaultyNetwork } from '../../../test/helpers/network/faulty-network.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'

/** The time until a failure shows or ends, in milliseconds: much more than is usual. */
const PATIENCE = { timeout: 60_000, interval: 20 }
/** Longer than a request may take while PostgreSQL is silent, and less than a hang, in milliseconds. */
const MAX_WAIT = 20_000
const MOMENTS: Moment[] = ['before', 'during', 'after']
vi.setConfig({ testTimeout: 120_000 })

let postgresql: PostgresqlServer
let scene: Scene
beforeAll(async () => {
  postgresql = await startPostgresql({ settings: { deadlock_timeout: '200ms' } })
  scene = await start()
})
afterAll(async () => {
  await scene?.[Symbol.asyncDispose]()
  await postgresql?.remove()
})
beforeEach(() => scene.connection.run('TRUNCATE "Plant"'))

/** A server whose database is behind a network that can fail, and connections past it as other programs have them. */
interface Scene extends AsyncDisposable {
  server: TestServer
  network: FaultyNetwork
  connection: Connection
  other: Connection
}

async function start(): Promise<Scene> {
  const network = await startFaultyNetwork(postgresql.port)
  const server = await startTestServer({ databaseUrl: network.url('plants'), adminPort: 0 })
  const [connection, other] = [
    await openConnection(postgresql.url('plants')),
    await openConnection(postgresql.url('plants')),
  ]
  return {
    server,
    network,
    connection,
    other,
    async [Symbol.asyncDispose]() {
      await server.close()
      await network[Symbol.asyncDispose]()
      for (const each of [connection, other]) await each.close()
    },
  }
}

const administrate = (sql: string) => runSql(postgresql.url('postgres'), sql)

const createPlant = (server: TestServer, id: number) => server.post(JSON.stringify({ id, name: `plant ${id}` }))

async function listNames(server: TestServer): Promise<string[]> {
  const response = await server.call('/plants')
  expect(response.status).toBe(200)
  return ((await response.json()) as { name: string }[]).map(({ name }) => name)
}

async function readiness({ adminUrl }: TestServer): Promise<string> {
  const response = await fetch(`${adminUrl}/readyz`)
  return `${response.status} ${(await response.text()).trim()}`
}

async function expectUnavailable(response: Response, retryAfter: string): Promise<void> {
  expect(response.headers.get('retry-after')).toBe(retryAfter)
  expect(await response.json()).toEqual({ error: 50300, message: expect.stringMatching(/^The database is .* Retry/) })
  expect(response.status).toBe(503)
}

/** Expects that requests succeed, that `/readyz` says so, and that the server was not restarted for it. */
async function expectRecovery(server: TestServer, id: number): Promise<void> {
  await expect.poll(async () => (await createPlant(server, id)).status, PATIENCE).toBe(200)
  await expect.poll(() => readiness(server), PATIENCE).toBe('200 ready')
  expect((await fetch(`${server.adminUrl}/livez`)).status).toBe(200)
}

describe.each(MOMENTS)('a connection that is lost %s', (moment) => {
  test('a commit: the plant is stored once, and the response is 200', async () => {
    const { server, network } = scene
    expect((await createPlant(server, 1)).status).toBe(200)
    for (let id = 2; id < 6; id++) {
      const cut = network.cutOnce(moment, `plant ${id}`)
      const response = await createPlant(server, id)
      expect([response.status, await response.json()]).toEqual([200, { name: `plant ${id}` }])
      await cut
    }
    expect(await listNames(server)).toEqual([1, 2, 3, 4, 5].map((id) => `plant ${id}`))
    expect((await createPlant(server, 5)).status).toBe(200)
    expect(await readiness(server)).toBe('200 ready')
  })

  test('a commit of many plants: each is stored once', async () => {
    const { server, network } = scene
    const { token } = await server.createToken({ account: 'many' })
    const cut = network.cutOnce(moment, 'plant 25')
    const create = (id: number) => server.post(JSON.stringify({ id, name: `plant ${id}` }), { token })
    const responses = await Promise.all(Array.from({ length: 50 }, (_, id) => create(id)))
    expect(responses.map(({ status }) => status)).toEqual(Array(50).fill(200))
    await cut
    const names = ((await (await server.call('/plants', { token })).json()) as { name: string }[]).map(
      ({ name }) => name,
    )
    expect([names.length, new Set(names).size]).toEqual([50, 50])
  })

  test('a list is read: the response is the whole list', async () => {
    const { server, network } = scene
    const before = await listNames(server)
    const cut = network.cutOnce(moment, 'alice')
    expect(await listNames(server)).toEqual(before)
    await cut
  })

  test('a token is created or read: it is created once and accepted', async () => {
    const { server, network } = scene
    const account = `token lost ${moment}`
    const created = network.cutOnce(moment, account)
    const { token, id } = await server.createToken({ account })
    await created
    const { connection } = scene
    const read = `SELECT "hash" FROM "Token" WHERE "account" = '${account}'`
    const rows = await connection.query<{ hash: string }>(read)
    expect(rows).toHaveLength(1)
    const lookedUp = network.cutOnce(moment, rows[0]?.hash ?? '')
    expect((await server.call('/plants', { token })).status).toBe(200)
    await lookedUp
    expect(await server.revoke(id)).toMatchObject({ revokedAt: expect.any(Date) })
  })
})

test('connections that are lost again and again end neither a request nor the process', async () => {
  const { server, network } = scene
  let id = 0
  for (let round = 0; round < 20; round++) {
    const requests = Array.from({ length: 10 }, () => createPlant(server, id++))
    const reads = Array.from({ length: 5 }, () => server.call('/plants'))
    network.cutAll()
    const responses = await Promise.all([...requests, ...reads])
    expect(responses.map(({ status }) => status)).toEqual(Array(15).fill(200))
    await Promise.all(responses.map((response) => response.text()))
  }
  expect(await listNames(server)).toHaveLength(id)
})

describe('a silent network', () => {
  test.runIf(isLong)(
    'gets a 503 within the time limits, /readyz says so within seconds, and everything recovers',
    async () => {
      const { server, network } = scene
      // Several idle connections, each of which will be silent.
      await Promise.all(Array.from({ length: 8 }, (_, index) => server.call(`/plants?limit=${index + 1}`)))
      network.stall()
      const begin = performance.now()
      const responses = [createPlant(server, 1), server.call('/plants'), server.call('/plants?limit=1')]
      // It was ready a moment before.
      await expect.poll(() => readiness(server), PATIENCE).toMatch(/^503 The database does not respond/)
      expect(performance.now() - begin).toBeLessThan(MAX_WAIT / 2)
      for (const response of responses) await expectUnavailable(await response, '5')
      expect(performance.now() - begin).toBeLessThan(MAX_WAIT)
      network.resume()
      // The other idle connections are closed with the first one that was silent.
      const recovery = performance.now()
      await expectRecovery(server, 1)
      expect(performance.now() - recovery).toBeLessThan(MAX_WAIT / 2)
      expect(await listNames(server)).toEqual(['plant 1'])
    },
  )

  test('is named by /readyz within seconds, and does not hold up a shutdown', async () => {
    await using silent = await start()
    const { server, network } = silent
    network.stall()
    const response = createPlant(server, 1).catch(() => 'cut')
    await expect.poll(() => readiness(server), PATIENCE).toMatch(/^503 The database does not respond/)
    const begin = performance.now()
    await server.close()
    expect(performance.now() - begin).toBeLessThan(MAX_WAIT / 4)
    await response
  })
})

test('connections beyond the limit of a role are not needed, and at none requests get a 503', async () => {
  await administrate('CREATE ROLE "few" LOGIN CONNECTION LIMIT 3')
  const { connection } = scene
  await connection.run('GRANT ALL ON ALL TABLES IN SCHEMA public TO "few"')
  const databaseUrl = postgresql.url('plants').replace('postgres@', 'few@')
  await using server = await startTestServer({ databaseUrl, adminPort: 0 })
  const requests = Array.from({ length: 40 }, (_, index) => server.call(`/plants?limit=${index + 1}`))
  expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(Array(40).fill(200))

  await administrate('ALTER ROLE "few" CONNECTION LIMIT 0')
  await administrate(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'few'`)
  await expectUnavailable(await createPlant(server, 1), '1')
  await expect.poll(() => readiness(server), PATIENCE).toMatch(/^503 The database accepts no more connections: /)
  await administrate('ALTER ROLE "few" CONNECTION LIMIT 3')
  await expectRecovery(server, 1)
})

describe('a statement that PostgreSQL aborts', () => {
  test.each(['40001', '40P01'])('with %s runs again: the response is 200', async (code) => {
    const { connection } = scene
    await connection.run(`
      CREATE SEQUENCE failures;
      CREATE FUNCTION abort() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('failures') <= 3 THEN RAISE 'aborted' USING ERRCODE = '${code}'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER abort BEFORE INSERT ON "Plant" FOR EACH ROW EXECUTE FUNCTION abort()`)
    expect((await createPlant(scene.server, 1)).status).toBe(200)
    expect(await connection.query(`SELECT last_value::int AS attempts FROM failures`)).toEqual([{ attempts: 4 }])
    await connection.run('DROP FUNCTION abort CASCADE; DROP SEQUENCE failures')
    expect(await listNames(scene.server)).toEqual(['plant 1'])
  })

  test('always gets a 503 with Retry-After', async () => {
    const { connection } = scene
    await connection.run(`
      CREATE FUNCTION abort() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'aborted' USING ERRCODE = '40001'; END $$;
      CREATE TRIGGER abort BEFORE INSERT ON "Plant" FOR EACH ROW EXECUTE FUNCTION abort()`)
    await expectUnavailable(await createPlant(scene.server, 1), '1')
    await connection.run('DROP FUNCTION abort CASCADE')
    await expectRecovery(scene.server, 1)
  })

  test('because of a deadlock runs again: the response is 200', async () => {
    const { other, connection: watcher } = scene
    // Without its trigger, the insert of the same plant does not take the lock on their order.
    await other.run(`BEGIN; SET LOCAL session_replication_role = replica`)
    await other.run(`INSERT INTO "Plant" ("account", "id", "name") VALUES ('alice', '1', 'other')`)
    const response = createPlant(scene.server, 1)
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event = 'transactionid'`
    await expect.poll(() => watcher.query(waiting), PATIENCE).toHaveLength(1)
    // The one that waits longer finds the deadlock.
    const lock = other.run('SET LOCAL session_replication_role = origin; SELECT pg_advisory_xact_lock(482854661748)')
    await Promise.allSettled([lock])
    await other.run('ROLLBACK')
    expect((await response).status).toBe(200)
    const deadlocks = 'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()'
    await expect.poll(() => watcher.query(deadlocks), PATIENCE).not.toEqual([{ deadlocks: 0 }])
    expect(await listNames(scene.server)).toEqual(['plant 1'])
  })
})

test('an open transaction that inserts blocks new plants: 503, named by /readyz, until it ends', async () => {
  const { server, other } = scene
  await other.run(`SET application_name = 'forgotten psql'; BEGIN`)
  await other.run(`INSERT INTO "Plant" ("account", "id", "name") VALUES ('bob', '1', 'x')`)
  const [{ pid = 0 } = {}] = await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const begin = performance.now()
  const response = createPlant(server, 1)
  await expect
    .poll(() => readiness(server), PATIENCE)
    .toMatch(
      new RegExp(`^503 A transaction .* blocks requests: .*pg_terminate_backend\\(${pid}\\), .*"forgotten psql"`),
    )
  await expectUnavailable(await response, '1')
  expect(performance.now() - begin).toBeGreaterThan(1_900)
  expect(performance.now() - begin).toBeLessThan(MAX_WAIT / 2)
  expect(await listNames(server)).toEqual([])
  await other.run('COMMIT')
  await expectRecovery(server, 1)
})
