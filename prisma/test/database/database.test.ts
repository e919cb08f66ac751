import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { engine, newDatabase, openConnection, runSql } from '../../../test/helpers/database/databases.ts'
import { loadEngine } from '../../src/address.ts'
import { openDatabase } from '../../src/database.ts'
import type { Database, ListState, PlantRow } from '../../src/index.ts'
import { createPlants } from '../../src/plants.ts'
import { openClient } from '../helpers/open-client.ts'

let url: string
let database: Database
beforeAll(async () => {
  url = await newDatabase()
  // Loading Prisma Client takes longer on a busy machine than a request may.
  database = await openDatabase(url, 20_000)
})
afterAll(() => database.close())

let accounts = 0
const newAccount = () => `account ${++accounts}`
const rowsOf = (account: string, ...names: string[]): PlantRow[] =>
  names.map((name, index) => ({ account, id: String(index), name, tag: null }))

const toJson = (rows: readonly PlantRow[]) =>
  JSON.stringify(rows.map(({ name, tag }) => (tag === null ? { name } : { name, tag })))

async function stateOf(account: string): Promise<ListState> {
  const [state] = await database.plants.states([account])
  if (!state) throw new Error('there is a state for each account')
  return state
}

test.each([
  ['1,000 short plants', 1_000, 'x'.repeat(52), true],
  ['1,000 longer ones', 1_000, 'x'.repeat(55), false],
  ['two of 32 kB', 2, 'x'.repeat(32_700), true],
  ['two that are longer', 2, 'x'.repeat(32_760), false],
  ['two that are longer once escaped', 2, '\u0001'.repeat(6_000), false],
  ['one of any length', 1, '\u0001é'.repeat(300_000), true],
])('a piece has at most 64 kB, or one plant: %s', async (_what, count, name, fits) => {
  const account = newAccount()
  await database.plants.create(rowsOf(account, ...Array(count).fill(name)))
  const { json, last } = await database.plants.read(account, { limit: count })
  expect(json?.toString()).toBe(fits ? Array(count).fill(JSON.stringify({ name })).join() : undefined)
  if (json && count > 1) expect(json.length + 2).toBeLessThanOrEqual(2 ** 16)
  expect(last).toBe((await stateOf(account)).last)
})

test('a plant is stored once, and its id is taken for others: in one batch, or in two', async () => {
  const text = '"é\u0001🪴'
  const one: PlantRow = { account: newAccount(), id: '1', name: text, tag: null }
  const two: PlantRow = { ...one, id: '2', name: '', tag: text }
  expect(await database.plants.create([one, one, { ...one, name: 'other' }])).toEqual(['stored', 'stored', 'taken'])
  const others = [
    ...[`${text} `, text.replace('é', 'è'), '', 'null'].map((name) => ({ ...one, name })),
    ...['', null, `${text}x`].map((tag) => ({ ...two, tag })),
    { ...one, tag: '' },
  ]
  const outcomes = ['stored', 'stored', 'stored', ...others.map(() => 'taken')]
  expect(await database.plants.create([two, one, one, ...others])).toEqual(outcomes)
  expect(await database.plants.create([{ ...one, account: newAccount() }])).toEqual(['stored'])
  const { json } = await database.plants.read(one.account, { limit: 9 })
  expect(`[${json}]`).toBe(toJson([one, two]))
  const first = await database.plants.read(one.account, { limit: 1 })
  expect(await database.plants.read(one.account, { limit: 9, until: first.last })).toEqual({ ...first, more: false })
})

test('Prisma Client changes plants by account and id, and no transaction has several of its statements', async () => {
  const { prisma } = await openClient(url)
  const account = newAccount()
  const where = (id: number) => ({ account, id: String(id) })
  const data = [1, 2].map((id) => ({ ...where(id), name: `plant ${id}` }))
  await prisma.plant.createMany({ data })
  await expect(prisma.plant.createMany({ data })).rejects.toMatchObject({ code: 'P2002' })
  expect(await prisma.plant.updateManyAndReturn({ where: where(1), data: { tag: 'fern' } })).toMatchObject([where(1)])
  expect(await prisma.plant.deleteMany({ where: where(2) })).toEqual({ count: 1 })
  const both = prisma.$transaction([prisma.plant.deleteMany(), prisma.plant.deleteMany()])
  await expect(both).rejects.toThrow('Transactions are not supported')
  const found = [1, 2, 3].map((id) => prisma.plant.findFirst({ where: where(id) }))
  expect(await Promise.all(found)).toMatchObject([{ name: 'plant 1', tag: 'fern' }, null, null])
})

test('a plant that is deleted before it can be compared is stored again, three times at most', async () => {
  const opened = await openClient(url)
  const { statements } = await loadEngine(url)
  for (const [deletions, outcome] of [
    [2, 'stored'],
    [3, 'deleted'],
  ] as const) {
    const [known, row] = rowsOf(newAccount(), 'known', 'deleted') as [PlantRow, PlantRow]
    await database.plants.create([known])
    let inserts = 0
    const write: typeof opened.write = async (...statement) => {
      const inserted = await opened.write(...statement)
      if (++inserts <= deletions)
        await runSql(url, `DELETE FROM "Plant" WHERE "account" = '${row.account}' AND "id" = '1'`)
      return inserted
    }
    const { create } = createPlants({ ...opened, write }, statements)
    expect([await create([known, row]), inserts]).toEqual([['stored', outcome], 3])
  }
})

/**
 * What a program may do to the plants of an account: every kind of change that a trigger sees, and those that it may
 * not see.
 */
const PLANT = `"account" = 'ACCOUNT' AND "id" = '0'`
const changes: [name: string, statement: string][] = [
  ['an insert', `INSERT INTO "Plant" ("account", "id", "name") VALUES ('ACCOUNT', 'new', 'x')`],
  ...['name', 'tag', 'id'].map((each): [string, string] => [
    `an update of the ${each}`,
    `UPDATE "Plant" SET "${each}" = 'changed' WHERE ${PLANT}`,
  ]),
  ['a deletion', `DELETE FROM "Plant" WHERE ${PLANT}`],
  ['a move to another account', `UPDATE "Plant" SET "account" = 'elsewhere', "id" = 'ACCOUNT' WHERE ${PLANT}`],
  ['a move from another account', `UPDATE "Plant" SET "account" = 'ACCOUNT', "id" = '9' WHERE "account" = 'OTHER'`],
  engine === 'sqlite'
    ? ['a replacement', `INSERT OR REPLACE INTO "Plant" ("account", "id", "name") VALUES ('ACCOUNT', '0', 'x')`]
    : ['a truncation', 'TRUNCATE "Plant"'],
  ['an emptied table of versions', engine === 'sqlite' ? 'DELETE FROM "ListVersion"' : 'TRUNCATE "ListVersion"'],
]

test.each(changes)('%s by another program changes the version of the list', async (name, statement) => {
  const [account, other, untouched] = [newAccount(), newAccount(), newAccount()]
  for (const each of [account, other, untouched]) await database.plants.create(rowsOf(each, 'a', 'b', 'c'))
  await runSql(url, `DELETE FROM "Plant" WHERE "account" = '${other}' AND "id" <> '0'`)
  const [before, others] = [await stateOf(account), await stateOf(untouched)]
  await runSql(url, statement.replaceAll('ACCOUNT', account).replaceAll('OTHER', other))
  const after = await stateOf(account)
  expect(after.version).not.toBe(before.version)
  const isUnknown = /truncation|emptied/.test(name)
  expect(after.version === undefined).toBe(isUnknown)
  if (!isUnknown) expect(await stateOf(untouched)).toEqual(others)
  if (name.startsWith('a move to')) expect((await stateOf('elsewhere')).version).toMatch(/./)
  // The next change makes it known.
  await database.plants.create(rowsOf(account, 'a', 'b', 'c', 'd'))
  expect((await stateOf(account)).version).toMatch(/./)
})

test('a version changes with what is stored and committed, and never comes again', async () => {
  const account = newAccount()
  const rows = rowsOf(account, 'a', 'b')
  const seen = new Set<string | undefined>()
  const note = async () => seen.add((await stateOf(account)).version).size
  await database.plants.create(rows)
  expect(await note()).toBe(1)
  // Nothing is new.
  await database.plants.create(rows)
  expect(await note()).toBe(1)
  const program = await openConnection(url)
  onTestFinished(program.close)
  const update = `UPDATE "Plant" SET "name" = 'changed' WHERE "account" = '${account}' AND "id" = '0'`
  for (const [end, seen] of [
    ['ROLLBACK', 1],
    ['COMMIT', 2],
  ] as const) {
    await program.run(`BEGIN; ${update}`)
    expect(await note()).toBe(1)
    await program.run(end)
    expect(await note()).toBe(seen)
  }
  for (let round = 0; round < 5; round++) {
    await runSql(url, `DELETE FROM "Plant" WHERE "account" = '${account}'; DELETE FROM "ListVersion"`)
    await database.plants.create(rows)
    expect(await note()).toBe(round + 3)
  }
})

test('the states of a thousand lists are each that of its account', async () => {
  const all = Array.from({ length: 1_000 }, newAccount)
  await database.plants.create(all.slice(0, 500).map((account) => ({ account, id: '1', name: 'x', tag: null })))
  const states = await database.plants.states(all.toReversed())
  expect(states.slice(0, 500)).toEqual(Array(500).fill({ last: 0 }))
  expect(new Set(states.map(({ version }) => version)).size).toBe(501)
  expect(new Set(states.map(({ last }) => last)).size).toBe(501)
})

/** Where numbers may be after a replication, a restore or an upgrade. */
const NUMBERS =
  engine === 'sqlite'
    ? [`DELETE FROM sqlite_sequence`, `UPDATE sqlite_sequence SET seq = 1`]
    : ['1', '1, false', '21', '24, false', '24'].map((value) => `SELECT setval('"Plant_seq_seq"', ${value})`)

test.each(NUMBERS)('a new plant follows those that are stored, wherever their numbers are: %s', async (setNumbers) => {
  const own = await newDatabase()
  const run = (sql: string) => runSql(own, sql)
  const overriding = engine === 'sqlite' ? '' : 'OVERRIDING SYSTEM VALUE'
  const olds = [20, 22, 24].map((seq) => `(${seq}, 'ann', 'old ${seq}', 'old ${seq}')`)
  await run(`INSERT INTO "Plant" ("seq", "account", "id", "name") ${overriding} VALUES ${olds}`)
  await run(setNumbers)
  const opened = await openDatabase(own)
  onTestFinished(opened.close)
  const names = ['old 20', 'old 22', 'old 24', 'new 0', 'new 1', 'new 2']
  for (const [index, name] of names.slice(3).entries()) {
    expect(await opened.plants.create([{ account: 'ann', id: name, name, tag: null }])).toEqual(['stored'])
    // Also while the database is open.
    if (index === 0) await run(setNumbers)
  }
  const { json } = await opened.plants.read('ann', { limit: 9 })
  expect(JSON.parse(`[${json}]`).map(({ name }: PlantRow) => name)).toEqual(names)
  expect(await opened.whyUnavailable()).toBe(undefined)
})

test.runIf(engine === 'sqlite').each([
  [`'2031-02-03 04:05:06'`, '2031-02-03T04:05:06.000Z'],
  [`'2031-02-03T04:05:06.007+00:00'`, '2031-02-03T04:05:06.007Z'],
  [Date.UTC(2031, 1, 3), '2031-02-03T00:00:00.000Z'],
  ['NULL', undefined],
])('a time that was written by hand is UTC: %s', async (value, time) => {
  const id = `until ${time}`
  await database.tokens.create({ id, hash: id, account: id, scopes: ['read'], label: null, expiresAt: null })
  await runSql(url, `UPDATE "Token" SET "expiresAt" = ${value} WHERE "id" = '${id}'`)
  expect((await database.tokens.find(['none', id]))[1]?.expiresAt?.toISOString()).toBe(time)
  // Prisma Client reads the list.
  const [listed] = await database.tokens.list(id)
  expect(listed?.expiresAt?.toISOString()).toBe(time)
})

test('an update that changes nothing which a list is made of leaves its version', async () => {
  const [account, other] = [newAccount(), newAccount()]
  for (const each of [account, other]) await database.plants.create(rowsOf(each, 'a', 'b'))
  const before = [await stateOf(account), await stateOf(other)]
  await runSql(
    url,
    `UPDATE "Plant" SET "name" = "name", "createdAt" = CURRENT_TIMESTAMP WHERE "account" = '${account}'`,
  )
  expect([await stateOf(account), await stateOf(other)]).toEqual(before)
  // Of the plants of one statement, one is another.
  await runSql(url, `UPDATE "Plant" SET "tag" = CASE "account" WHEN '${other}' THEN 'x' ELSE "tag" END`)
  expect(await stateOf(account)).toEqual(before[0])
  expect((await stateOf(other)).version).not.toBe(before[1]?.version)
})
