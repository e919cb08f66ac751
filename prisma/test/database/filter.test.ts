/** The filter that CONTRIBUTING.md shows. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { engine, newDatabase, runSql } from '../../../test/helpers/database/databases.ts'
import { loadEngine } from '../../src/address.ts'
import { createPlants } from '../../src/plants.ts'
import { selectPieceOf as selectOnPostgresql } from '../../src/postgresql/statements.ts'
import { selectPieceOf as selectOnSqlite } from '../../src/sqlite/statements.ts'
import { openClient } from '../helpers/open-client.ts'

const guide = readFileSync(new URL('../../../CONTRIBUTING.md', import.meta.url), 'utf8')
/** Returns what matches in the part of the guide for this engine, the first or the second. */
const findShown = (pattern: RegExp) => [...guide.matchAll(pattern)][engine === 'sqlite' ? 0 : 1]?.[1] ?? ''

test('a filter by tag reads only the plants of the account that have it, by its index, and any tag is stored', async () => {
  const plantsAfter = Function(`return ${findShown(/selectPieceByTag: selectPieceOf\(\n(.*?),\n\),/gs)}`)()
  const url = await newDatabase()
  const [, columns] = /@@index\(\[(.*)\]\) \/\/ SQLite: /.exec(guide) ?? []
  const [, onPostgresql] = /CREATE INDEX "Plant_account_tag_seq_idx" ON "Plant"\((.*)\);/.exec(guide) ?? []
  const indexed = { sqlite: columns, postgresql: onPostgresql }[engine]
  // The migrations of one who has added the filter have it.
  await runSql(url, `CREATE INDEX IF NOT EXISTS "Plant_account_tag_seq_idx" ON "Plant"(${indexed})`)
  const database = await openClient(url)
  const rows = Array.from({ length: 900 }, (_, id) => {
    const account = id % 4 === 1 ? 'bob' : 'alice'
    return { account, id: String(id), name: `plant ${id}`, tag: id % 90 === 1 ? 'fig' : `tag ${id}`.repeat(id) }
  })
  const { statements } = await loadEngine(url)
  await createPlants(database, statements).create(rows)
  await runSql(url, 'ANALYZE')

  const statement = { sqlite: selectOnSqlite, postgresql: selectOnPostgresql }[engine](plantsAfter)
  const values = ['alice', 0, 500, 20, 99, 'fig']
  const [[json = ''] = []] = await database.read<[string]>(statement, values)
  const expected = [91, 271, 451].map((id) => ({ name: `plant ${id}`, tag: 'fig' }))
  expect(JSON.parse(`[${Buffer.from(json)}]`)).toEqual(expected)
  const explain = engine === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'
  const plan = await database.read({ kind: 'read', sql: `${explain} ${statement.sql}` }, values)
  const scans = plan.map(String).filter((step) => /(SEARCH|SCAN|Scan) .*\bPlant/.test(step))
  expect(scans).toEqual(Array(2).fill(expect.stringContaining('Plant_account_tag_seq_idx')))
})
