import { expect, onTestFinished, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { createPrisma } from '../../src/database.ts'
import { type SqlValue, toQuery } from '../../src/engine.ts'
import { PrismaClient } from '../../src/generated/sqlite/client.ts'
import { createPlants } from '../../src/plants.ts'
import { connect } from '../../src/sqlite/driver-adapter.ts'
import { statements } from '../../src/sqlite/statements.ts'
import { openNewClient } from '../helpers/open-client.ts'
import { filters, readIndex } from '../helpers/read-index.ts'

const plant = (id: number, name: string) => ({ account: 'alice', id: String(id), name, tag: null })

test('only the plants of the account are read, and of a filter', async () => {
  const { adapter, file, url } = await openNewClient()
  const ran: [string, ...SqlValue[]][] = []
  const counting: typeof adapter = {
    ...adapter,
    queryRaw(query) {
      ran.push([query.sql, ...(query.args as SqlValue[])])
      return adapter.queryRaw(query)
    },
  }
  const plants = createPlants(createPrisma(PrismaClient, counting), counting, statements)
  await plants.insert(Array.from({ length: 30 }, (_, id) => plant(id, `plant ${id}`)))
  for (const range of [{ limit: 20 }, { limit: 20, after: 20 }, { limit: 1 }, { limit: 5, after: 30 }]) {
    await plants.read('alice', range)
    expect(ran.at(-1)?.[0]).toBe(statements.selectPiece([]))
  }
  await plants.states(['alice', 'bob'])

  const explaining = connect(file, { readonly: true })
  onTestFinished(explaining.dispose)
  for (const [statement, ...values] of ran) {
    const { rows } = await explaining.queryRaw(toQuery(`EXPLAIN QUERY PLAN ${statement}`, ...values))
    const steps = rows.map((row) => String(row[3])).filter((step) => /\bPlant\b/.test(step))
    expect(steps).not.toEqual([])
    for (const step of steps)
      expect(step).toMatch(/^SEARCH Plant USING (.*Plant_account_seq_idx \(account=\?|INTEGER PRIMARY KEY \(rowid=\?)/)
  }

  await runSql(url, readIndex('sqlite'))
  for (const column of filters) {
    const filtered = toQuery(`EXPLAIN QUERY PLAN ${statements.selectPiece([column])}`, 'alice', 0, 30, 20, 99, 'fig')
    const steps = (await explaining.queryRaw(filtered)).rows.map((row) => String(row[3]))
    const index = `Plant_account_${column}_seq_idx (account=? AND ${column}=? AND seq>? AND seq<?)`
    expect(steps.filter((step) => /\b(Plant|TEMP)\b/.test(step))).toEqual(Array(2).fill(expect.stringContaining(index)))
  }
})
