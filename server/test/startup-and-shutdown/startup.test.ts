import { migrateDatabase } from '@plant-store/prisma'
import pino from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { migrationsWith } from '../../../test/helpers/database/migrations.ts'
import { connect } from '../../../test/helpers/database/sqlite.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { startServer } from '../../src/index.ts'
import { startAccessLog } from '../../src/telemetry/log/access-log.ts'
import { readMetrics } from '../helpers/telemetry/read-metric.ts'

/** The time a server may take to start on a busy machine, in milliseconds. */
const PATIENCE = 60_000
vi.setConfig({ testTimeout: 2 * PATIENCE })

/** Creates a logger, and the lines that it writes. */
function createLog(): { logger: pino.Logger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = []
  return { logger: pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) }), lines }
}

function longMigration(rows: number | 'endless'): string {
  const end = rows === 'endless' ? '' : `LIMIT ${rows}`
  return migrationsWith({
    '90000101000000_long': `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT 1 FROM c ${end}) SELECT count(*) FROM c;`,
  })
}

/** Reads the status and the text of a response; undefined if nothing listens. */
async function read(url: string): Promise<[number, string] | undefined> {
  const response = await fetch(url).catch(() => undefined)
  return response && [response.status, await response.text()]
}

test('while a migration runs, /livez responds 200, /readyz 503 with the reason, and requests get a 503', async () => {
  const { url: databaseUrl } = temporaryDatabase()
  await migrateDatabase(databaseUrl)
  const [port, adminPort] = [await freePort(), await freePort()]
  const { logger, lines } = createLog()
  const ending = new AbortController()
  const starting = startServer(
    { port, adminPort, databaseUrl },
    { logger },
    { migrationsFolder: longMigration('endless'), signal: ending.signal },
  )
  const ended = expect(starting).rejects.toThrow('the end')
  const admin = `http://127.0.0.1:${adminPort}`
  await until(async () => /migrating/.test(String(await read(`${admin}/readyz`))), PATIENCE)

  expect(await read(`${admin}/readyz`)).toEqual([503, expect.stringContaining('migrating')])
  expect(await read(`${admin}/livez`)).toEqual([200, 'live\n'])
  const response = await fetch(`http://127.0.0.1:${port}/plants`)
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  expect(lines).toMatchObject([{ migrations: ['90000101000000_long'], msg: expect.stringMatching(/^migrating/) }])

  ending.abort(new Error('the end'))
  await ended
  expect(await read(`${admin}/livez`)).toBeUndefined()
  expect(await read(`http://127.0.0.1:${port}/plants`)).toBeUndefined()
})

test('requests that a startup rejects are in the metrics and in the access log', async () => {
  const { file, url: databaseUrl } = temporaryDatabase()
  await migrateDatabase(databaseUrl)
  const lock = connect(file)
  lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  const { logger, lines } = createLog()
  onTestFinished(startAccessLog(logger))
  const [port, adminPort] = [await freePort(), await freePort()]
  const starting = startServer({ port, adminPort, databaseUrl, trustProxy: 1, shutdownDelay: 0 }, { logger })
  const headers = { 'X-Request-Id': 'early', 'X-Forwarded-For': '192.0.2.7' }
  await until(async () => {
    const response = await fetch(`http://127.0.0.1:${port}/plants`, { headers }).catch(() => undefined)
    return response?.status === 503 && response.headers.get('x-request-id') === 'early'
  }, PATIENCE)
  lock.exec('ROLLBACK')
  lock.close()
  const server = await starting
  onTestFinished(() => server.close())

  const metrics = await readMetrics(server)
  expect(metrics.get('plant_store_rejected_total{reason="startup"}')).toBe(1)
  const [series] = [...metrics].filter(([name, count]) => /duration_seconds_count.*="503"/.test(name) && count > 0)
  expect(series).toEqual([expect.stringContaining('http_route=""'), 1])
  expect(metrics.get('http_server_active_requests{http_request_method="GET",url_scheme="http"}')).toBe(0)
  const line = { event: 'request', requestId: 'early', method: 'GET', status: 503, clientAddress: '192.0.2.7' }
  expect(lines.filter(({ event }) => event === 'request')).toEqual([expect.objectContaining(line)])
})

test('the duration of a migration is logged, and nothing if none is pending', async () => {
  const { url: databaseUrl } = temporaryDatabase()
  const { logger, lines } = createLog()
  const options = { migrationsFolder: longMigration(2_000_000) }
  await (await startServer({ port: 0, databaseUrl, shutdownDelay: 0 }, { logger }, options)).close()
  const migrations = [expect.stringMatching(/_initial$/), '90000101000000_long']
  expect(lines.at(-1)).toMatchObject({ migrations: expect.arrayContaining(migrations), msg: 'database migrated' })
  expect(lines.at(-1)?.['seconds']).toBeGreaterThan(0)

  lines.length = 0
  await (await startServer({ port: 0, databaseUrl, shutdownDelay: 0 }, { logger }, options)).close()
  expect(lines).toEqual([])
})

test('/readyz responds 200 only once requests are served', async () => {
  const { url: databaseUrl } = temporaryDatabase()
  const [port, adminPort] = [await freePort(), await freePort()]
  const starting = startServer({ port, adminPort, databaseUrl, shutdownDelay: 0 })
  await until(async () => (await read(`http://127.0.0.1:${adminPort}/readyz`))?.[0] === 200, PATIENCE)
  expect((await read(`http://127.0.0.1:${port}/nowhere`))?.[0]).toBe(404)
  await (await starting).close()
})
