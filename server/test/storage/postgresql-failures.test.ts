/**
 * What the server does if PostgreSQL or the network to it fails: what may run twice is retried, everything else gets a 503,
 * `/readyz` and the metrics say so, and requests succeed again without a restart once the cause is gone.
 */
import pino from 'pino'
import { beforeEach, expect, test } from 'vitest'
import { openConnection, runSql, startOwnPostgresql } from '../../../test/helpers/database/databases.ts'
import { demandPasswords } from '../../../test/helpers/database/postgresql.ts'
import { type Moment, startFaultyNetwork } from '../../../test/helpers/network/faulty-network.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { afterFile } from '../../../test/helpers/temporary.ts'
import { expectReadiness, expectUnavailable, readiness } from '../helpers/storage/load.ts'
import { readMetric } from '../helpers/telemetry/read-metric.ts'

/** Longer than a request may take while PostgreSQL is silent, and less than a hang, in milliseconds. */
const MAX_WAIT = 10_000

const postgresql = await startOwnPostgresql({ prepare: demandPasswords })
const network = await startFaultyNetwork(postgresql.port)
afterFile(network[Symbol.asyncDispose])
/** A server whose database is behind a network that can fail, and a connection past it as another program has it. */
await postgresql.create('plants')
const server = await startTestServer({ databaseUrl: network.url('plants'), adminPort: 0 })
const connection = await openConnection(postgresql.url('plants'))
afterFile(connection.close)
beforeEach(() => connection.run('TRUNCATE "Plant"'))

const administrate = (sql: string) => runSql(postgresql.url('postgres'), sql)
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

test.each<Moment>(['before', 'during', 'after'])(
  'a connection that is lost %s a commit: each plant is stored once, and the response is 200',
  async (moment) => {
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
  },
)

test('a silent network: /readyz names it within seconds, requests get a 503, then all recovers, and a shutdown ends', async () => {
  await using silence = await startFaultyNetwork(postgresql.port)
  await using silent = await startTestServer({ databaseUrl: silence.url('plants'), adminPort: 0 })
  // Several idle connections, each of which will be silent.
  await Promise.all(Array.from({ length: 8 }, (_, index) => silent.call(`/plants?limit=${index + 1}`)))
  silence.stall()
  const begin = performance.now()
  const responses = [createPlant(1, silent), silent.call('/plants'), silent.call('/plants?limit=1')]
  await expectReadiness(silent, /^503 The database does not respond/)
  for (const response of responses) await expectRejected(await response, '5')
  expect(performance.now() - begin).toBeLessThan(MAX_WAIT)
  expect(await readMetric(silent, 'plant_store_ready')).toBe(0)
  silence.resume()
  // The other idle connections are closed with the first one that was silent.
  const recovery = performance.now()
  await expectRecovery(1, silent)
  expect(performance.now() - recovery).toBeLessThan(MAX_WAIT)
  expect(await (await silent.call('/plants')).json()).toEqual([{ name: 'plant 1' }])
  silence.stall()
  responses.push(createPlant(2, silent))
  const settled = Promise.allSettled(responses)
  const closing = performance.now()
  await silent.close()
  expect(performance.now() - closing).toBeLessThan(MAX_WAIT / 2)
  await settled
})

test('where a role may have few connections, none is missed; where it may have none, requests get a 503', async () => {
  await administrate(`CREATE ROLE "few" LOGIN PASSWORD 'few' CONNECTION LIMIT 3`)
  await connection.run('GRANT ALL ON ALL TABLES IN SCHEMA public TO "few"')
  const databaseUrl = postgresql.url('plants').replace('postgres@', 'few:few@')
  await using limited = await startTestServer({ databaseUrl, adminPort: 0 })
  const requests = Array.from({ length: 40 }, (_, index) => limited.call(`/plants?limit=${index + 1}`))
  expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(Array(40).fill(200))
  await administrate('ALTER ROLE "few" CONNECTION LIMIT 0')
  await administrate(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'few'`)
  await expectRejected(await createPlant(1, limited), '1')
  await administrate('ALTER ROLE "few" CONNECTION LIMIT 3')
  await expectRecovery(1, limited)
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

  // A deadlock is the second one; the last one is what a statement gets whose table a migration has changed.
  for (const [index, code] of ['40001', '40P01', '0A000'].entries()) {
    await failOften(code, 3)
    expect((await createPlant(index + 1)).status, code).toBe(200)
    expect(await connection.query(`SELECT last_value::int AS attempts FROM failures`)).toEqual([{ attempts: 4 }])
  }
  await failOften('40001', 1e9)
  await expectRejected(await createPlant(4), '1')
  await connection.run('DROP FUNCTION abort CASCADE')
  await expectRecovery(4)
  expect(await listNames()).toEqual(namesUpTo(4))
})

test('a server whose database fails logs and sends no password', async () => {
  await administrate(`CREATE ROLE secretive LOGIN PASSWORD 'Zq7@/x?Zq8#%Zq9'`)
  await connection.run('GRANT ALL ON ALL TABLES IN SCHEMA public TO secretive')
  const seen: string[] = []
  const logger = pino({ level: 'trace' }, { write: (line) => seen.push(line) })
  const password = encodeURIComponent('Zq7@/x?Zq8#%Zq9')
  const databaseUrl = network.url('plants').replace('postgres@', `secretive:${password}@`)
  await using failing = await startTestServer({ databaseUrl, adminPort: 0 }, { logger })
  const faults = [
    () => administrate(`ALTER ROLE secretive PASSWORD 'other'`),
    // Where nothing listens.
    () => network.lead(1),
  ]
  for (const fault of faults) {
    await fault()
    network.cutAll()
    const responses = [
      failing.call('/plants'),
      ...['/readyz', '/metrics'].map((path) => fetch(failing.adminUrl + path)),
    ]
    for (const response of responses) seen.push(await (await response).text())
  }
  network.lead(postgresql.port)
  expect(seen.join()).toMatch(/"error":50300/)
  expect(seen.join()).toMatch(/"level":40,.*The database is currently unavailable/)
  expect(seen.join()).not.toMatch(/"error":50000|Zq[789]/)
})
