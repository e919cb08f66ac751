/** What every engine stores and lists, past the server. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { engine, newDatabase, openConnection, runSql } from '../../../test/helpers/database/databases.ts'
import type { ListEnd } from '../../src/database.ts'
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

async function stateOf(account: string, known: ListEnd = { last: 0, lastCreatedAt: null }) {
  const [state] = await database.plants.states([{ account, ...known }])
  if (!state) throw new Error('there is a state for each list')
  return state
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
      expect((await stateOf(account)).edits).toBe(0)
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
  expect((await textOf((await database.plants.list(account)).pieces)) === toJson(rows)).toBe(true)

  const { last: until } = await database.plants.list(account, { limit: 4_500 })
  const { last: after } = await database.plants.list(account, { limit: 2 })
  const part = await database.plants.list(account, { after, until })
  expect((await textOf(part.pieces)) === toJson(rows.slice(2, 4_500))).toBe(true)

  // Another program deletes what was not read yet.
  let text = ''
  for await (const piece of (await database.plants.list(account)).pieces) {
    if (text === '') await runSql(url, `DELETE FROM "Plant" WHERE "account" = '${account}'`)
    text += piece
  }
  expect(JSON.parse(text)).toEqual(JSON.parse(toJson(rows.slice(0, 512))))
})

test('an empty list ends at 0, whole and page by page, so that plants after it are a change', async () => {
  const account = newAccount()
  for (const range of [{}, { limit: 5 }, { limit: 5, after: 7 }]) {
    const { pieces, last, more } = await database.plants.list(account, range)
    expect([await textOf(pieces), last, more]).toEqual(['[]', 0, false])
  }
})

test('where the rest of a list was deleted, a page is empty and the last one, and the whole list ends', async () => {
  const account = newAccount()
  await database.plants.insert(rowsOf(account, ...Array.from({ length: 600 }, (_, index) => `plant ${index}`)))
  const { last: after } = await database.plants.list(account, { limit: 512 })
  const { pieces } = await database.plants.list(account)
  const { value: first } = await pieces.next()
  await runSql(url, `DELETE FROM "Plant" WHERE "account" = '${account}' AND "seq" > ${after}`)
  expect(JSON.parse(first + (await textOf(pieces)))).toHaveLength(512)
  const page = await database.plants.list(account, { limit: 2, after })
  expect(page).toMatchObject({ last: 0, more: false })
  expect(await textOf(page.pieces)).toBe('[]')
})

test('an insert counts what it stored: nothing twice, in one batch or in two', async () => {
  const account = newAccount()
  const [one, two] = rowsOf(account, 'one', 'two') as [PlantRow, PlantRow]
  expect(await database.plants.insert([one, one])).toBe(1)
  expect(await database.plants.insert([one, two, { ...two, name: 'other' }])).toBe(1)
  expect(await database.plants.insert([one])).toBe(0)
  expect(await database.plants.insert([{ ...one, account: newAccount() }])).toBe(1)
})

test('a plant is compared with the stored one of its account and id', async () => {
  const account = newAccount()
  const text = '"é\u0001🪴'
  const stored = [
    { account, id: '1', name: text, tag: null },
    { account, id: '2', name: '', tag: text },
  ] as const
  await database.plants.insert(stored)
  const [one, two] = stored
  const cases: [PlantRow, boolean | undefined][] = [
    [two, true],
    [one, true],
    [one, true],
    ...[`${text} `, text.replace('é', 'è'), '', 'null'].map((name): [PlantRow, boolean] => [{ ...one, name }, false]),
    [{ ...one, tag: '' }, false],
    [{ ...two, tag: null }, false],
    [{ ...two, tag: `${text}x` }, false],
    [{ ...one, id: '3' }, undefined],
    [{ ...one, id: '3', tag: 'x' }, undefined],
    [{ ...one, account: newAccount() }, undefined],
  ]
  expect(await database.plants.compare(cases.map(([plant]) => plant))).toEqual(cases.map(([, result]) => result))
})

test('plants that are inserted again or at the end do not count as edits', async () => {
  const account = newAccount()
  const rows = rowsOf(account, 'a', 'b', 'c')
  const { edits } = await stateOf(account)
  for (let round = 0; round < 3; round++) {
    await database.plants.insert(rows.slice(0, 1 + round))
    await database.plants.insert([...rows, ...rowsOf(newAccount(), 'x')])
  }
  await runSql(url, `INSERT INTO "Plant" ("account", "id", "name") VALUES ('${account}', 'end', 'x')`)
  expect((await stateOf(account)).edits).toBe(edits)
})

test('a state says where a list ends, whether its known last plant is still stored, and what follows', async () => {
  const [account, other] = [newAccount(), newAccount()]
  expect(await stateOf(account)).toEqual({ edits: 0, last: 0, lastCreatedAt: null, hasKnown: false, news: '' })
  await database.plants.insert([...rowsOf(account, 'a', 'b'), ...rowsOf(other, 'x')])
  const known = await stateOf(account)
  expect(Math.abs(Date.now() - Number(known.lastCreatedAt))).toBeLessThan(60_000)
  expect([known.hasKnown, known.news]).toEqual([false, '{"name":"a"},{"name":"b"}'])
  expect(await stateOf(account, known)).toEqual({ ...known, hasKnown: true, news: '' })

  await database.plants.insert([{ account, id: '7', name: 'c', tag: '' }, ...rowsOf(newAccount(), 'y')])
  const state = await stateOf(account, known)
  expect(state).toMatchObject({ edits: 0, hasKnown: true, news: '{"name":"c","tag":""}' })
  expect(state.last).toBeGreaterThan(known.last)
  expect((await stateOf(other, known)).hasKnown).toBe(false)
  // As of a plant that has got the number of one that a crash took away.
  const taken = { last: known.last, lastCreatedAt: Number(known.lastCreatedAt) - 1 }
  expect((await stateOf(account, taken)).hasKnown).toBe(false)

  // More lists than one statement reads.
  const many = Array.from({ length: 40 }, (_, index) => ({ account: index === 39 ? account : newAccount(), ...known }))
  expect((await database.plants.states(many)).map((each) => each.hasKnown)).toEqual([...Array(39).fill(false), true])
})

test.each([
  ['64 plants', 64, 'x', true],
  ['65 plants', 65, 'x', false],
  ['128 bytes of text', 1, 'x'.repeat(128), true],
  ['129 bytes of text', 1, 'x'.repeat(129), false],
  ['more than 8 kB of JSON', 64, 'x'.repeat(128), false],
  ['more than 8 kB, once escaped', 12, '\u0001'.repeat(128), false],
])('%s are news: %#', async (_what, count, name, areNews) => {
  const account = newAccount()
  await database.plants.insert(rowsOf(account, ...Array(count).fill(name)))
  const { news, last } = await stateOf(account)
  expect(news).toBe(areNews ? Array(count).fill(JSON.stringify({ name })).join() : undefined)
  expect(last).toBe((await database.plants.list(account, { limit: 100 })).last)
})

/** What another program may do to a plant that is not the last, on PostgreSQL also what SQLite does not have. */
const PLANT = `"account" = 'ACCOUNT' AND "id" = '0'`
const edits = [
  ['an update', `UPDATE "Plant" SET "name" = 'changed' WHERE ${PLANT}`],
  ['a deletion', `DELETE FROM "Plant" WHERE ${PLANT}`],
  ['the deletion of all', `DELETE FROM "Plant" WHERE "account" = 'ACCOUNT'`],
  ['a move to another account', `UPDATE "Plant" SET "account" = 'elsewhere', "id" = 'ACCOUNT' WHERE ${PLANT}`],
  [
    'an upsert',
    `INSERT INTO "Plant" ("account", "id", "name") VALUES ('ACCOUNT', '0', 'x')
     ON CONFLICT ("account", "id") DO UPDATE SET "name" = 'upserted'`,
  ],
  ['a truncation', 'TRUNCATE "Plant"'],
  ['a merge', `MERGE INTO "Plant" USING (SELECT) AS "none" ON ${PLANT} WHEN MATCHED THEN DELETE`],
].slice(0, engine === 'sqlite' ? 5 : undefined)

test.each(edits)('%s by another program is counted as an edit of the account', async (name, statement = '') => {
  const [account, untouched] = [newAccount(), newAccount()]
  await database.plants.insert([...rowsOf(account, 'a', 'b', 'c'), ...rowsOf(untouched, 'x')])
  const [before, others] = [await stateOf(account), await stateOf(untouched)]
  const now = Math.floor(Date.now() / 1_000)
  await runSql(url, statement.replaceAll('ACCOUNT', account))
  // The number of an edit is its time, so that it differs from those of edits that were lost.
  expect((await stateOf(account)).edits - before.edits).toBeGreaterThanOrEqual(now)
  // A plant that arrives from another account is an edit there too.
  if (name === 'a move to another account') expect((await stateOf('elsewhere')).edits).toBeGreaterThanOrEqual(now)
  if (name !== 'a truncation') expect(await stateOf(untouched)).toEqual(others)
})

test('an edit is counted once it is committed, and not if it is undone', async () => {
  const account = newAccount()
  await database.plants.insert(rowsOf(account, 'a', 'b'))
  const { edits } = await stateOf(account)
  const program = await openConnection(url)
  onTestFinished(program.close)
  const update = `UPDATE "Plant" SET "name" = 'changed' WHERE "account" = '${account}' AND "id" = '0'`
  await program.run(`BEGIN; ${update}`)
  expect((await stateOf(account)).edits).toBe(edits)
  await program.run('ROLLBACK')
  expect((await stateOf(account)).edits).toBe(edits)
  await program.run(`BEGIN; ${update}`)
  expect((await stateOf(account)).edits).toBe(edits)
  await program.run('COMMIT')
  expect((await stateOf(account)).edits).toBeGreaterThan(edits)
})
