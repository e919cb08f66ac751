/** What every engine stores and lists, past the server. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { engine, newDatabase, openConnection, runSql } from '../../../test/helpers/database/databases.ts'
import { type Database, openDatabase, type PlantRow } from '../../src/index.ts'

let url: string
let database: Database
beforeAll(async () => {
  url = await newDatabase()
  database = await openDatabase(url)
})
afterAll(() => database.close())

let accounts = 0
const newAccount = () => `account ${++accounts}`
const rowsOf = (account: string, ...names: string[]): PlantRow[] =>
  names.map((name, index) => ({ account, id: String(index), name, tag: null }))

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

const toJson = (rows: readonly PlantRow[]) =>
  JSON.stringify(rows.map(({ name, tag }) => (tag === null ? { name } : { name, tag })))

async function changeOf(account: string, last: number) {
  const [change] = await database.plants.changes([{ account, last }])
  if (!change) throw new Error('there is a change for each list')
  return change
}

test('lists are the JSON text of the plants, byte for byte, whole and page by page', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }).map((value) => value.replaceAll('\0', '')),
    fc.constantFrom(
      '',
      '"\\/\b\f\n\r\t',
      '\u2028\u2029\uFEFF\uFFFF',
      '\u0001\u001F\u007F\u0080\u009F',
      '🪴🏳️‍🌈\u{10FFFF}',
      'null',
    ),
    fc.constantFrom(600, 3_000, 100_000).map((length) => 'é'.repeat(length)),
  )
  const plant = fc.record({ name: text, tag: fc.option(text) })
  await fc.assert(
    fc.asyncProperty(fc.array(plant, { maxLength: 12 }), fc.integer({ min: 1, max: 5 }), async (plants, limit) => {
      const account = newAccount()
      const rows = plants.map(({ name, tag }, id) => ({ account, id: String(id), name, tag }))
      expect(await database.plants.insert(rows)).toBe(rows.length)
      expect(await textOf((await database.plants.list(account)).pieces)).toBe(toJson(rows))

      const pages: string[] = []
      for (let after = 0; ; ) {
        const { pieces, last, more } = await database.plants.list(account, { limit, after })
        pages.push(await textOf(pieces))
        after = last
        if (!more) break
      }
      expect(pages.flatMap((page) => JSON.parse(page))).toEqual(JSON.parse(toJson(rows)))

      const { json, edits } = await changeOf(account, 0)
      expect(edits).toBe(0)
      if (json !== undefined) expect(`[${json}]`).toBe(toJson(rows))
    }),
    { numRuns: 40 },
  )
}, 60_000)

test('lists and pages that are requested at the same time are each what was asked for', async () => {
  const [account, other] = [newAccount(), newAccount()]
  await database.plants.insert([...rowsOf(account, 'a', 'b', 'c'), ...rowsOf(other, 'x')])
  const { last: after } = await database.plants.list(account, { limit: 1 })
  const requests = [{}, { limit: 2 }, { limit: 2 }, { limit: 2, after }, { limit: 1, after }]
  const lists = await Promise.all([
    ...requests.map((range) => database.plants.list(account, range)),
    database.plants.list(other, { limit: 2 }),
  ])
  const names = lists.map(async ({ pieces }) =>
    JSON.parse(await textOf(pieces))
      .map(({ name }: PlantRow) => name)
      .join(''),
  )
  expect(await Promise.all(names)).toEqual(['abc', 'ab', 'ab', 'bc', 'b', 'x'])
  expect(lists.map(({ more }) => more)).toEqual([false, true, true, false, true, false])
})

test('a list of several pieces is whole, and ends at its last plant', async () => {
  const account = newAccount()
  const rows = rowsOf(account, ...Array.from({ length: 5_000 }, (_, index) => `plant ${index}`))
  await database.plants.insert(rows)
  const { pieces, last, more } = await database.plants.list(account)
  expect([last, more]).toEqual([(await changeOf(account, 0)).last, false])
  expect((await textOf(pieces)) === toJson(rows)).toBe(true)

  // Another program deletes what was not read yet.
  let text = ''
  for await (const piece of (await database.plants.list(account)).pieces) {
    if (text === '') await runSql(url, `DELETE FROM "Plant" WHERE "account" = '${account}'`)
    text += piece
  }
  expect(JSON.parse(text)).toEqual(JSON.parse(toJson(rows.slice(0, 4_096))))
})

test('an empty list ends at 0, whole and page by page, so that plants after it are a change', async () => {
  const account = newAccount()
  for (const range of [{}, { limit: 5 }, { limit: 5, after: 7 }]) {
    const { pieces, last, more } = await database.plants.list(account, range)
    expect([await textOf(pieces), last, more]).toEqual(['[]', 0, false])
  }
})

test('an insert counts what it stored: nothing twice, in one batch or in two', async () => {
  const account = newAccount()
  const [one, two] = rowsOf(account, 'one', 'two') as [PlantRow, PlantRow]
  expect(await database.plants.insert([one, one])).toBe(1)
  expect(await database.plants.insert([one, two, { ...two, name: 'other' }])).toBe(1)
  expect(await database.plants.insert([one])).toBe(0)
  expect(await database.plants.insert([{ ...one, account: newAccount() }])).toBe(1)
  const found = await database.plants.find([one, two, { account, id: '7' }])
  expect(found.sort((a, b) => a.id.localeCompare(b.id))).toEqual([one, two])
})

test('plants that are inserted again or at the end do not count as edits', async () => {
  const account = newAccount()
  const rows = rowsOf(account, 'a', 'b', 'c')
  const { edits } = await changeOf(account, 0)
  for (let round = 0; round < 3; round++) {
    await database.plants.insert(rows.slice(0, 1 + round))
    await database.plants.insert([...rows, ...rowsOf(newAccount(), 'x')])
  }
  await runSql(url, `INSERT INTO "Plant" ("account", "id", "name") VALUES ('${account}', 'end', 'x')`)
  expect((await changeOf(account, 0)).edits).toBe(edits)
})

test('a change has the new plants, in order, and not those of others', async () => {
  const [account, other] = [newAccount(), newAccount()]
  await database.plants.insert([...rowsOf(account, 'a', 'b'), ...rowsOf(other, 'x')])
  const { last } = await changeOf(account, 0)
  expect(await changeOf(account, last)).toEqual({ edits: 0, last, json: '' })
  await database.plants.insert([{ account, id: '7', name: 'c', tag: '' }, ...rowsOf(newAccount(), 'y')])
  const change = await changeOf(account, last)
  expect(change).toEqual({ edits: 0, last: expect.any(Number), json: '{"name":"c","tag":""}' })
  expect(change.last).toBeGreaterThan(last)

  const known = [
    { account: other, last: 0 },
    { account: newAccount(), last: 0 },
    { account, last: change.last },
  ]
  expect((await database.plants.changes(known)).map(({ json }) => json)).toEqual(['{"name":"x"}', '', ''])
  // More than one statement reads.
  const many = Array.from({ length: 40 }, (_, index) => ({ account: index === 39 ? other : newAccount(), last: 0 }))
  expect((await database.plants.changes(many)).map(({ json }) => json)).toEqual([...Array(39).fill(''), '{"name":"x"}'])
})

test('too many and too long new plants are not part of a change', async () => {
  const account = newAccount()
  const names = (count: number) => Array.from({ length: count }, (_, index) => `plant ${index}`)
  await database.plants.insert(rowsOf(account, ...names(512)))
  expect((await changeOf(account, 0)).json?.split('},{')).toHaveLength(512)
  await database.plants.insert(rowsOf(account, ...names(513)))
  const change = await changeOf(account, 0)
  expect(change.json).toBeUndefined()
  expect(change.last).toBe((await database.plants.list(account)).last)

  for (const length of [512, 513]) {
    const long = newAccount()
    await database.plants.insert(rowsOf(long, 'x'.repeat(length)))
    expect((await changeOf(long, 0)).json === undefined).toBe(length > 512)
  }
})

/** What another program may do to a plant that is not the last, on PostgreSQL also what SQLite does not have. */
const PLANT = `"account" = 'ACCOUNT' AND "id" = '0'`
const edits = [
  ['an update', `UPDATE "Plant" SET "name" = 'changed' WHERE ${PLANT}`],
  ['a deletion', `DELETE FROM "Plant" WHERE ${PLANT}`],
  ['the deletion of all', `DELETE FROM "Plant" WHERE "account" = 'ACCOUNT'`],
  ['a move to another account', `UPDATE "Plant" SET "account" = 'elsewhere', "id" = 'ACCOUNT' WHERE ${PLANT}`],
  ['a truncation', 'TRUNCATE "Plant"'],
  [
    'an upsert',
    `INSERT INTO "Plant" ("account", "id", "name") VALUES ('ACCOUNT', '0', 'x')
     ON CONFLICT ("account", "id") DO UPDATE SET "name" = 'upserted'`,
  ],
  ['a merge', `MERGE INTO "Plant" USING (SELECT) AS "none" ON ${PLANT} WHEN MATCHED THEN DELETE`],
].slice(0, engine === 'sqlite' ? 4 : undefined)

test.each(edits)('%s by another program is counted as an edit of the account', async (name, statement = '') => {
  const [account, untouched] = [newAccount(), newAccount()]
  await database.plants.insert([...rowsOf(account, 'a', 'b', 'c'), ...rowsOf(untouched, 'x')])
  const [before, others] = [await changeOf(account, 0), await changeOf(untouched, 0)]
  await runSql(url, statement.replaceAll('ACCOUNT', account))
  expect((await changeOf(account, 0)).edits).toBeGreaterThan(before.edits)
  if (name !== 'a truncation') expect(await changeOf(untouched, 0)).toEqual(others)
})

test('a plant that arrives from another account is an edit there too', async () => {
  const [from, to] = [newAccount(), newAccount()]
  await database.plants.insert([...rowsOf(from, 'a'), ...rowsOf(to, 'b')])
  const { edits } = await changeOf(newAccount(), 0)
  await runSql(url, `UPDATE "Plant" SET "account" = '${to}', "id" = 'moved' WHERE "account" = '${from}'`)
  expect([(await changeOf(from, 0)).edits, (await changeOf(to, 0)).edits]).toEqual([edits + 1, edits + 1])
})

test('an edit is counted once it is committed, and not if it is undone', async () => {
  const account = newAccount()
  await database.plants.insert(rowsOf(account, 'a', 'b'))
  const { edits } = await changeOf(account, 0)
  const program = await openConnection(url)
  onTestFinished(program.close)
  const update = `UPDATE "Plant" SET "name" = 'changed' WHERE "account" = '${account}' AND "id" = '0'`
  await program.run(`BEGIN; ${update}`)
  expect((await changeOf(account, 0)).edits).toBe(edits)
  await program.run('ROLLBACK')
  expect((await changeOf(account, 0)).edits).toBe(edits)
  await program.run(`BEGIN; ${update}`)
  expect((await changeOf(account, 0)).edits).toBe(edits)
  await program.run('COMMIT')
  expect((await changeOf(account, 0)).edits).toBeGreaterThan(edits)
})
