/** No statement of ours is compiled by PostgreSQL, which takes 20 to 200 ms each time. */
import { migrateDatabase, openDatabase } from '@plant-store/prisma'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query, runSql } from '../../../test/helpers/database/databases.ts'
import { debianPrograms, type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { requireInCi } from '../../../test/helpers/long-tests.ts'
import { hasPgbouncer, startPgbouncer } from '../../../test/helpers/network/pgbouncer.ts'

requireInCi('PostgreSQL with a just-in-time compiler', debianPrograms)
if (!debianPrograms) console.log('The compiler of PostgreSQL is not tested: that of Debian is not installed.')

/** Half of the default of `jit_above_cost`, so that the statements stay far below it. */
const ABOVE_COST = '50000'
const STATISTICS = { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track': 'all' }
const INSERT_MANY = `
  INSERT INTO "Plant" ("account", "id", "name")
  SELECT CASE WHEN i % 3 = 0 THEN 'large' ELSE 'account ' || i % 1000 END, i::text, 'Monstera deliciosa'
  FROM generate_series(1, 100000) AS i`
const SELECT_COMPILED = 'SELECT query FROM pg_stat_statements WHERE jit_functions > 0'

describe.runIf(debianPrograms)('with many plants', { timeout: 120_000 }, () => {
  let server: PostgresqlServer
  beforeAll(async () => {
    server = await startPostgresql({ settings: { ...STATISTICS, jit_above_cost: ABOVE_COST } })
    await migrateDatabase(server.url('plants'))
    await runSql(
      server.url('plants'),
      'CREATE EXTENSION pg_stat_statements; ALTER TABLE "Plant" SET (autovacuum_enabled = off)',
    )
    await runSql(server.url('plants'), INSERT_MANY)
  })
  afterAll(() => server.remove())

  test.each([
    ['directly', 'before there are statistics', false],
    ['through PgBouncer', 'before there are statistics', true],
    ['directly', 'ANALYZE', false],
    ['through PgBouncer', 'ANALYZE', true],
  ])('%s, %s', async (_, preparation, isPooled) => {
    if (isPooled && !hasPgbouncer) return
    if (preparation === 'ANALYZE') await runSql(server.url('plants'), preparation)
    await runSql(server.url('plants'), 'SELECT pg_stat_statements_reset()')
    const pooler = isPooled && (await startPgbouncer(server.port))
    const database = await openDatabase(pooler ? `${pooler}/plants?pgbouncer=true` : server.url('plants'))
    // Often enough for PostgreSQL to decide on the plans that it keeps.
    for (let round = 0; round < 7; round++) await useAll(database, `${preparation} ${isPooled} ${round}`)
    await database.close()
    expect(await query(server.url('plants'), SELECT_COMPILED)).toEqual([])
  })
})

/** Runs every statement of a server. */
async function useAll(
  { plants, tokens, ...database }: Awaited<ReturnType<typeof openDatabase>>,
  name: string,
): Promise<void> {
  const added = Array.from({ length: 500 }, (_, index) => {
    return { account: `account ${index}`, id: `${name} ${index}`, name: 'x', tag: null }
  })
  expect(await plants.insert(added)).toBe(500)
  expect(await plants.insert([{ account: 'large', id: name, name: 'x', tag: null }])).toBe(1)
  expect(await plants.find(added)).toHaveLength(500)
  for (const range of [{}, { limit: 1 }, { limit: 1_000 }, { limit: 1_000, after: 50_000 }]) {
    const { pieces } = await plants.list('large', range)
    for await (const piece of pieces) expect(piece).not.toBe('')
  }
  await plants.changes(added.slice(0, 100).map(({ account }) => ({ account, last: 90_000 })))
  await plants.changes([{ account: 'large', last: 0 }])
  const token = { id: name, hash: name, account: 'large', scopes: ['read'], label: null, expiresAt: null }
  await tokens.create(token)
  expect(await tokens.find(name)).toMatchObject({ id: name })
  expect(await tokens.revoke(name)).toMatchObject({ id: name })
  expect(await tokens.list()).toHaveLength(1)
  expect(await tokens.listEnded(new Date(Date.now() + 1_000))).toHaveLength(1)
  await tokens.delete([name])
  await database.secret('cursor')
  expect(await database.isEmpty()).toBe(false)
  await database.state()
  expect(await database.whyUnavailable()).toBe(undefined)
}
