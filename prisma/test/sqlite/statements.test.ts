import { expect, onTestFinished, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { numbered } from '../../src/sqlite/driver-adapter.ts'
import { connect } from '../../src/sqlite/file-guard.ts'
import { selectPieceOf } from '../../src/sqlite/statements.ts'
import { newMigrated } from '../helpers/open-client.ts'
import { readFilter } from '../helpers/read-filter.ts'

test('a filter by tag reads no other plants', async () => {
  const { file, url } = await newMigrated()
  const { plants, index } = readFilter('sqlite')
  await runSql(url, index)
  const explaining = connect(file, { readonly: true })
  onTestFinished(explaining.close)
  const { sql } = selectPieceOf(plants)
  const { rows } = explaining.run(`EXPLAIN QUERY PLAN ${sql}`, numbered(['alice', 0, 30, 20, 99, 'fig']))
  const steps = rows.map((row) => String(row[3])).filter((step) => /\b(Plant|TEMP)\b/.test(step))
  const search = 'Plant_account_tag_seq_idx (account=? AND tag=? AND seq>? AND seq<?)'
  expect(steps).toEqual(Array(2).fill(expect.stringContaining(search)))
})
