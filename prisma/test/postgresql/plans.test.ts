/**
 * How PostgreSQL runs our statements: it reads only the plants of the account, and compiles none, which takes 20 to 200
 * ms.
 */
import { openDatabase } from '@plant-store/prisma'
import { expect, test } from 'vitest'
import { query, runSql, startOwnPostgresql } from '../../../test/helpers/database/databases.ts'
import { debianPrograms } from '../../../test/helpers/database/postgresql.ts'
import { requireInCi } from '../../../test/helpers/long-tests.ts'
import { hasPgbouncer, startPgbouncer } from '../../../test/helpers/network/pgbouncer.ts'
import { uses } from '../helpers/uses.ts'

requireInCi('PostgreSQL with a just-in-time compiler', debianPrograms)

/** Half of the default of `jit_above_cost`, so that the statements stay far below it. */
const COMPILER = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'all',
  jit_above_cost: '50000',
}
const SELECT_COMPILED = 'SELECT query FROM pg_stat_statements WHERE jit_functions > 0'
/**
 * One account has the first plants, another one nearly all: the case in which reading in the order of `seq` is worst.
 */
const insertUnevenly = (count: number, account = `'large'`) => `
  ALTER TABLE "Plant" SET (autovacuum_enabled = off);
  INSERT INTO "Plant" ("account", "id", "name")
  SELECT CASE WHEN i <= 100 THEN 'first' ELSE ${account} END, i::text, 'Monstera deliciosa'
  FROM generate_series(1, ${count}) AS i`
const SELECT_SCANS = `
  SELECT indexrelname AS name, idx_scan::int AS scans FROM pg_stat_user_indexes WHERE relname = 'Plant'
  UNION ALL SELECT relname, seq_scan::int FROM pg_stat_user_tables WHERE relname = 'Plant'`

/** A piece of a list, one that is known to end, a plant of any length, and pages. */
const RANGES = [
  { limit: 512 },
  { limit: 1_024, after: 50, until: 15_000 },
  { limit: 1, after: 50 },
  { limit: 1_000, after: 50_000 },
]

const server = await startOwnPostgresql({ settings: debianPrograms ? COMPILER : {} })
await runSql(
  await server.create('plants'),
  insertUnevenly(100_000, `CASE WHEN i % 3 = 0 THEN 'large' ELSE 'account ' || i % 1000 END`),
)
if (debianPrograms) await runSql(server.url('plants'), 'CREATE EXTENSION pg_stat_statements')

test.each(['ANALYZE "Plant"', 'SELECT 1'])('after %s, only the plants of the account are read', async (prepare) => {
  const url = await server.create(prepare.replaceAll('"', ''))
  await runSql(url, insertUnevenly(20_000))
  await runSql(url, prepare)
  const countScans = async () => {
    const rows = await query<{ name: string; scans: number }>(url, SELECT_SCANS)
    return Object.fromEntries(rows.map(({ name, scans }) => [name, scans]))
  }
  const before = await countScans()
  const database = await openDatabase(`${url}?connection_limit=2`)
  // Often enough for PostgreSQL to decide on the plans that it keeps.
  for (let round = 0; round < 20; round++) {
    for (const account of ['first', 'large', 'empty']) {
      for (const range of RANGES) await database.plants.read(account, range)
      await database.plants.states([account])
      await database.plants.create([{ account, id: `new ${round}`, name: 'x', tag: null }])
    }
  }
  await database.close()
  // Each of 60 inserts, and the one with which a startup proves promises, looks for its id, and for numbers above the
  // next one.
  const scansOf = (name: string) => (before[name] ?? 0) + 61
  const [Plant_account_id_key, Plant_pkey] = [scansOf('Plant_account_id_key'), scansOf('Plant_pkey')]
  // A session writes its counts when it ends, which is after its connection.
  const after = { ...before, Plant_account_id_key, Plant_pkey, Plant_account_seq_idx: expect.any(Number) }
  await expect.poll(countScans).toEqual(after)
  expect((await countScans())['Plant_account_seq_idx']).toBeGreaterThan(200)
})

test.runIf(debianPrograms).each(hasPgbouncer ? ['?pgbouncer=true', ''] : [''])(
  'no statement is compiled, without statistics and with them%s',
  async (parameters) => {
    const url = server.url('plants')
    const database = await openDatabase(parameters ? `${await startPgbouncer(server.port)}/plants${parameters}` : url)
    const { plants, tokens } = database
    await runSql(url, 'SELECT pg_stat_statements_reset()')
    for (let round = 0; round < 14; round++) {
      const added = Array.from({ length: 500 }, (_, index) => {
        return { account: `account ${index}`, id: `${parameters} ${round} ${index}`, name: 'x', tag: null }
      })
      // The second time, they are compared.
      for (let time = 0; time < 2; time++) expect(await plants.create(added)).toEqual(Array(500).fill('stored'))
      for (const range of RANGES) await plants.read('large', range)
      await plants.states(added.map(({ account }) => account))
      for (const use of Object.values(uses)) await use(database)
      expect(await tokens.list()).not.toEqual([])
      expect(await database.isEmpty()).toBe(false)
      expect(await database.whyUnavailable()).toBe(undefined)
      if (round === 6) await runSql(url, 'ANALYZE')
    }
    await database.close()
    expect(await query(url, SELECT_COMPILED)).toEqual([])
  },
)
