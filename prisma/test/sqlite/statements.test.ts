import { expect, onTestFinished, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import type { SqlValue } from '../../src/engine.ts'
import { createPlants } from '../../src/plants.ts'
import { connect, numbered } from '../../src/sqlite/driver-adapter.ts'
import { selectPieceOf, statements } from '../../src/sqlite/statements.ts'
import { newMigrated, openNewClient } from '../helpers/open-client.ts'
import { readFilter } from '../helpers/read-filter.ts'

const plant = (id: number, name: string) => ({ account: 'alice', id: String(id), name, tag: null })

test('only the plants of the account are read', async () => {
  const { prisma, read, write, file } = await openNewClient()
  const ran: [string, SqlValue[]][] = []
  const counting: typeof read = (statement, values) => {
    ran.push([statement.sql, values])
    return read(statement, values)
  }
  const plants = createPlants(prisma, { read: counting, write }, statements)
  await plants.insert(Array.from({ length: 30 }, (_, id) => plant(id, `plant ${id}`)))
  for (const range of [{ limit: 20 }, { limit: 20, after: 20 }, { limit: 1 }, { limit: 5, after: 30 }]) {
    await plants.read('alice', range)
    expect(ran.at(-1)?.[0]).toBe(statements.selectPiece.sql)
  }
  await plants.states(['alice', 'bob'])

  const explaining = connect(file, { readonly: true })
  onTestFinished(explaining.close)
  for (const [sql, values] of ran) {
    const { rows } = explaining.run(`EXPLAIN QUERY PLAN ${sql}`, numbered(values))
    const steps = rows.map((row) => String(row[3])).filter((step) => /\bPlant\b/.test(step))
    expect(steps).not.toEqual([])
    for (const step of steps)
      expect(step).toMatch(/^SEARCH Plant USING (.*Plant_account_seq_idx \(account=\?|INTEGER PRIMARY KEY \(rowid=\?)/)
  }
})

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
