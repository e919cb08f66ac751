import { expect, onTestFinished, test } from 'vitest'
import { PrismaClient } from '../../src/generated/sqlite/client.ts'
import { createPlants } from '../../src/plants.ts'
import { createPrisma, type SqlValue, toQuery } from '../../src/prisma-client.ts'
import { connect } from '../../src/sqlite/driver-adapter.ts'
import { dialect } from '../../src/sqlite/statements.ts'
import { openNewClient } from '../helpers/open-client.ts'

const plant = (id: number, name: string) => ({ account: 'alice', id: String(id), name, tag: null })

test('a page and a short list are one statement, and only the plants of the account are read', async () => {
  const { adapter, file } = await openNewClient()
  const ran: [string, ...SqlValue[]][] = []
  const counting: typeof adapter = {
    ...adapter,
    queryRaw(query) {
      ran.push([query.sql, ...(query.args as SqlValue[])])
      return adapter.queryRaw(query)
    },
  }
  const plants = createPlants(createPrisma(PrismaClient, counting), counting, dialect)
  await plants.insert(Array.from({ length: 30 }, (_, id) => plant(id, `plant ${id}`)))
  for (const range of [{ limit: 20 }, { limit: 20, after: 20 }, { limit: 1 }, {}, { limit: 5, after: 30 }]) {
    for await (const piece of (await plants.list('alice', range)).pieces) expect(piece).toMatch(/^\[.*\]$/)
    expect(ran.splice(0).map(([statement]) => statement)).toEqual([dialect.selectPiece])
  }
  // Once for all that ask for the same at the same time.
  await Promise.all([20, 20, 5, 20].map((limit) => plants.list('alice', { limit })))
  expect(ran.splice(0).map(([, , , , limit]) => limit)).toEqual([20, 5])
  // The size of the text is limited: where plants are long, a page is read in pieces.
  await plants.insert([plant(30, 'x'.repeat(600_000)), plant(31, 'y'.repeat(600_000))])
  await plants.insert([32, 33].map((id) => plant(id, 'z'.repeat(1_025))))
  // Six bytes of JSON for each of these characters.
  await plants.insert([34, 35].map((id) => plant(id, '\u0001'.repeat(200))))
  for (const [after, lengths] of [
    [30, [1, 600_011, 600_013]],
    [32, [1, 2_074]],
    [34, [1, 2_424]],
  ] as const) {
    const pieces: string[] = []
    for await (const piece of (await plants.list('alice', { limit: 2, after })).pieces) pieces.push(piece)
    expect(pieces.map(({ length }) => length)).toEqual(lengths)
    expect(JSON.parse(pieces.join(''))).toHaveLength(2)
  }
  // The beginning of the whole list, which had room for a piece, is not read again.
  const before = ran.length
  for await (const piece of (await plants.list('alice')).pieces) expect(piece).not.toBe('[')
  const limits = ran.slice(before).map(([, , , , limit]) => limit)
  expect(limits.filter((limit) => limit === 512)).toHaveLength(1)
  await plants.states([{ account: 'alice', last: 1, lastCreatedAt: 1 }])

  const explaining = connect(file, { readonly: true })
  onTestFinished(explaining.dispose)
  for (const [statement, ...values] of ran) {
    const { rows } = await explaining.queryRaw(toQuery(`EXPLAIN QUERY PLAN ${statement}`, ...values))
    const steps = rows.map((row) => String(row[3])).filter((step) => /\bPlant\b/.test(step))
    expect(steps.length).toBeGreaterThan(1)
    for (const step of steps)
      expect(step).toMatch(/^SEARCH Plant USING (.*Plant_account_seq_idx \(account=\?|INTEGER PRIMARY KEY \(rowid=\?)/)
  }
})
