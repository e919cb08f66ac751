import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openConnection, runSql } from '../../../test/helpers/database/databases.ts'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { type FaultyNetwork, startFaultyNetwork } from '../../../test/helpers/network/faulty-network.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { readMetric, readMetrics } from '../helpers/telemetry/read-metric.ts'

// Starting PostgreSQL takes a second, and many on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const PATIENCE = { timeout: 60_000 }
const LOCK_WRITES = 'BEGIN; LOCK TABLE "Plant" IN EXCLUSIVE MODE'
const LAST_BACKUP = 'plant_store_last_backup_timestamp_seconds'

let postgresql: PostgresqlServer
let network: FaultyNetwork
let server: TestServer
beforeAll(async () => {
  postgresql = await startPostgresql({ settings: { archive_mode: 'on', archive_command: 'false' } })
  network = await startFaultyNetwork(postgresql.port)
  server = await startTestServer({ databaseUrl: network.url('plants'), adminPort: 0 })
})
afterAll(async () => {
  await server?.close()
  await network?.[Symbol.asyncDispose]()
  await postgresql?.remove()
})

test('the metrics of PostgreSQL: the engine, its size, its connections, no log and no disk of this machine', async () => {
  expect((await server.post('{"id": 1, "name": "Ficus"}')).status).toBe(200)
  const metrics = await readMetrics(server)
  const pool = 'db_client_connection_pool_name="plant-store"'
  expect([...metrics.keys()].join('\n')).toContain('engine="postgresql"')
  expect(metrics.get('plant_store_database_size_bytes')).toBeGreaterThan(1e6)
  expect(metrics.get(`db_client_connection_max{${pool}}`)).toBe(8)
  const idle = metrics.get(`db_client_connection_count{${pool},db_client_connection_state="idle"}`) ?? 0
  const used = metrics.get(`db_client_connection_count{${pool},db_client_connection_state="used"}`) ?? 0
  expect(idle + used).toBeGreaterThanOrEqual(1)
  expect(metrics.get(`db_client_connection_pending_requests{${pool}}`)).toBe(0)
  expect(metrics.has('plant_store_wal_bytes')).toBe(false)
  expect(metrics.has('plant_store_disk_free_bytes')).toBe(false)
})

test('a failing archive of the write-ahead log is counted', async () => {
  await runSql(postgresql.url('plants'), 'SELECT pg_switch_wal()')
  await expect.poll(() => readMetric(server, 'plant_store_archive_failures_total'), PATIENCE).toBeGreaterThan(0)
})

test('the last backup is what the guide sets; another text counts as no backup', async () => {
  expect(await readMetric(server, LAST_BACKUP)).toBe(0)
  await runSql(postgresql.url('plants'), `ALTER DATABASE plants SET plant_store.last_backup = '2026-11-21T03:00:00Z'`)
  const time = Date.UTC(2026, 10, 21, 3) / 1_000
  await expect.poll(() => readMetric(server, LAST_BACKUP), PATIENCE).toBe(time)
  await runSql(postgresql.url('plants'), `ALTER DATABASE plants SET plant_store.last_backup = 'yesterday'`)
  await expect.poll(() => readMetric(server, LAST_BACKUP), PATIENCE).toBe(0)
})

test('plants that a lock of PostgreSQL rejects are counted', async () => {
  const connection = await openConnection(postgresql.url('plants'))
  await connection.run(LOCK_WRITES)
  expect((await server.post('{"id": 2, "name": "Ficus"}')).status).toBe(503)
  expect(await readMetric(server, 'plant_store_writes_rejected_total{reason="locked"}')).toBe(1)
  await connection.close()
})

test('while PostgreSQL is unavailable, a scrape succeeds without what it says', async () => {
  network.lead(await freePort())
  network.cutAll()
  await expect.poll(() => readMetric(server, 'plant_store_ready'), PATIENCE).toBe(0)
  await expect.poll(() => readMetric(server, 'plant_store_database_size_bytes'), PATIENCE).toBeNaN()
  expect((await server.post('{"id": 2, "name": "Ficus"}')).status).toBe(503)
  const metrics = await readMetrics(server)
  expect(metrics.has('plant_store_archive_failures_total')).toBe(false)
  expect(metrics.get('plant_store_busy_retries_total')).toBeGreaterThan(0)
  network.lead(postgresql.port)
  await expect.poll(() => readMetric(server, 'plant_store_ready'), PATIENCE).toBe(1)
  await expect.poll(() => readMetric(server, 'plant_store_database_size_bytes'), PATIENCE).toBeGreaterThan(1e6)
})
