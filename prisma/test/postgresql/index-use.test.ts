import { afterAll, beforeAll, expect, test } from 'vitest'
import { query, runSql } from '../../../test/helpers/database/databases.ts'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { migrateDatabase, openDatabase } from '../../src/index.ts'

let server: PostgresqlServer
beforeAll(async () => {
  server = await startPostgresql()
})
afterAll(() => server.remove())

/** One account has the first plants, the other one nearly all: the case in which reading in the order of `seq` is worst. */
const INSERT_UNEVENLY = `
  INSERT INTO "Plant" ("account", "id", "name") SELECT 'first', i::text, 'x' FROM generate_series(1, 100) AS i;
  INSERT INTO "Plant" ("account", "id", "name") SELECT 'large', i::text, 'x' FROM generate_series(1, 20000) AS i`

test.each([
  ['with statistics', 'ANALYZE "Plant"'],
  ['before there are statistics', 'SELECT 1'],
])('%s, only the plants of the account are read', async (name, prepare) => {
  const url = server.url(encodeURIComponent(name))
  await migrateDatabase(url)
  await runSql(url, 'ALTER TABLE "Plant" SET (autovacuum_enabled = off)')
  await runSql(url, INSERT_UNEVENLY)
  await runSql(url, prepare)
  const scansBefore = await countTableScans(url)
  const database = await openDatabase(`${url}?connection_limit=2`)
  const { plants } = database
  let inserts = 0
  // Often enough for PostgreSQL to decide on the plans that it keeps.
  for (let round = 0; round < 20; round++) {
    for (const account of ['first', 'large', 'empty']) {
      const whole = await plants.list(account)
      for await (const piece of whole.pieces)
        expect(piece.at(-1)).toBe(whole.last === 0 || piece.endsWith(']') ? ']' : '}')
      const page = await plants.list(account, { limit: 10, after: 50 })
      for await (const piece of page.pieces) expect(piece).toContain('[')
      await plants.changes([{ account, last: whole.last }])
      await plants.changes([{ account, last: 0 }])
      inserts++
      await plants.insert([{ account, id: `new ${round}`, name: 'x', tag: null }])
    }
  }
  // A session writes its counts when it ends.
  await database.close()
  const used = await query<{ name: string; scans: string }>(
    url,
    `SELECT indexrelname AS name, idx_scan AS scans FROM pg_stat_user_indexes WHERE relname = 'Plant' ORDER BY 1`,
  )
  const scans = Object.fromEntries(used.map(({ name, scans }) => [name, Number(scans)]))
  // An insert looks there for the same id.
  expect(scans).toMatchObject({ Plant_account_id_key: inserts, Plant_pkey: 0 })
  expect(scans['Plant_account_seq_idx']).toBeGreaterThan(200)
  expect(await countTableScans(url)).toBe(scansBefore)
})

async function countTableScans(url: string): Promise<unknown> {
  const [table] = await query<{ scans: unknown }>(
    url,
    `SELECT seq_scan AS scans FROM pg_stat_user_tables WHERE relname = 'Plant'`,
  )
  return table?.scans
}
