import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { until } from '../../../test/helpers/until.ts'
import { migrateDatabase, openDatabase, type RequestCounts } from '../../src/index.ts'
import { createPool, type Pool } from '../../src/postgresql/connection/pool.ts'
import { readServerAddress } from '../../src/postgresql/connection/server-address.ts'
import { createRequestCounts } from '../../src/postgresql/request-counts.ts'
import { createSql } from '../../src/shared/sql.ts'

const HOUR = 3_600_000

let postgresql: PostgresqlServer
let pool: Pool
let counts: RequestCounts
beforeAll(async () => {
  postgresql = await startPostgresql()
  await migrateDatabase(postgresql.url('counts'))
  pool = await createPool(readServerAddress(postgresql.url('counts')))
  counts = createRequestCounts(createSql(pool.adapter))
})
afterAll(async () => {
  await pool.close()
  await postgresql.remove()
})

test('a database of PostgreSQL counts requests', async () => {
  const { requestCounts, close } = await openDatabase(postgresql.url('counts'))
  expect(await requestCounts?.add(new Map([['opened', 1]]), HOUR)).toMatchObject([{ key: 'opened', count: 1 }])
  await close()
})

test('each key has a count and a window of its own, which begins with its first request', async () => {
  const first = await counts.add(new Map([['a', 2]]), HOUR)
  expect(first).toEqual([{ key: 'a', count: 2, endsIn: HOUR }])
  const both = await counts.add(
    new Map([
      ['b', 1],
      ['a', 3],
    ]),
    2 * HOUR,
  )
  const byKey = new Map(both.map(({ key, ...counted }) => [key, counted]))
  expect(byKey.get('a')?.count).toBe(5)
  expect(byKey.get('a')?.endsIn).toBeLessThanOrEqual(HOUR)
  expect(byKey.get('b')).toEqual({ count: 1, endsIn: 2 * HOUR })
})

test('a window that has ended begins again', async () => {
  await counts.add(new Map([['ended', 100]]), HOUR)
  await pool.connections.query(`UPDATE "RequestCount" SET "endsAt" = now() - interval '1 s' WHERE "key" = 'ended'`)
  expect(await counts.add(new Map([['ended', 1]]), HOUR)).toEqual([{ key: 'ended', count: 1, endsIn: HOUR }])
})

test('keys may be any text that a token or an issuer has', async () => {
  const keys = ['', `it's "quoted"`, '\\', 'https://login.example.com/ 🪴', 'x'.repeat(2_000)]
  const found = await counts.add(new Map(keys.map((key) => [key, 1])), HOUR)
  expect(found.map(({ key }) => key).sort()).toEqual([...keys].sort())
})

test('nothing is lost or blocked while many count the same keys in different orders', async () => {
  const keys = ['x', 'y', 'z']
  const rounds = Array.from({ length: 60 }, (_, round) => {
    const turned = [...keys.slice(round % 3), ...keys.slice(0, round % 3)]
    return counts.add(new Map(turned.map((key) => [key, 1])), HOUR)
  })
  await Promise.all(rounds)
  const found = await counts.add(new Map(keys.map((key) => [key, 1])), HOUR)
  expect(found.map(({ count }) => count)).toEqual([61, 61, 61])
})

test('windows that have ended are deleted', async () => {
  const sweeping = createRequestCounts(createSql(pool.adapter), 0)
  await counts.add(new Map([['old', 1]]), HOUR)
  await pool.connections.query(`UPDATE "RequestCount" SET "endsAt" = now() - interval '1 s' WHERE "key" = 'old'`)
  await sweeping.add(new Map([['new', 1]]), HOUR)
  const remaining = async () => (await pool.connections.query('SELECT "key" FROM "RequestCount"')).rows
  await until(async () => !(await remaining()).some(({ key }) => key === 'old'))
  expect(await remaining()).toContainEqual({ key: 'new' })
})
