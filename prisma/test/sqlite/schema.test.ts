import { expect, onTestFinished, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { type Database, openDatabase } from '../../src/database.ts'
import { newMigrated, outcomeOf } from '../helpers/open-client.ts'

const plant = { account: 'alice', name: 'Monstera', tag: null }
const token = { account: 'alice', scopes: ['read'], label: null, expiresAt: null }
let last = 0

/** What requests and commands do. */
const operations = {
  insert: ({ plants }: Database) => plants.create([{ ...plant, id: String(++last) }]),
  list: ({ plants }: Database) => plants.read('alice', { limit: 9 }),
  states: ({ plants }: Database) => plants.states(['alice']),
  find: ({ tokens }: Database) => tokens.find(['x']),
  create: ({ tokens }: Database) => tokens.create({ ...token, id: String(++last), hash: String(last) }),
  revoke: ({ tokens }: Database) => tokens.revoke('1'),
  secret: ({ secret }: Database) => secret('cursor'),
}
const names = Object.keys(operations) as (keyof typeof operations)[]

const INDEX = 'CREATE UNIQUE INDEX "Plant_account_id_key" ON "Plant" ("account", "id")'
/** Keeps the name in triggers. */
const renameTo = (table: string, to: string) =>
  `PRAGMA legacy_alter_table = ON; ALTER TABLE "${table}" RENAME TO "${to}"`
const rename = (table: string) => [`the table ${table}`, renameTo(table, 'Other'), renameTo('Other', table)] as const

test.each<readonly [what: string, change: string, repair: string, fails: readonly (keyof typeof operations)[]]>([
  ['the index', 'DROP INDEX "Plant_account_id_key"', INDEX, ['insert']],
  [...rename('Plant'), ['insert', 'list', 'states']],
  [...rename('ListVersion'), ['insert', 'list', 'states']],
  [...rename('Token'), ['find', 'create', 'revoke']],
  [...rename('Secret'), ['secret']],
  [
    'a column',
    'ALTER TABLE "Plant" RENAME COLUMN "tag" TO "label"',
    'ALTER TABLE "Plant" RENAME COLUMN "label" TO "tag"',
    ['insert', 'list'],
  ],
  [
    'what a trigger of its own needs',
    'CREATE TRIGGER "broken" AFTER INSERT ON "Plant" BEGIN INSERT INTO "Nowhere" VALUES (1); END',
    'DROP TRIGGER "broken"',
    ['insert'],
  ],
  [
    'only what is not needed',
    'ALTER TABLE "Plant" ADD COLUMN "pot" TEXT; DROP TRIGGER IF EXISTS "Plant_updated"',
    'ALTER TABLE "Plant" DROP COLUMN "pot"',
    [],
  ],
])('where another program removes %s, what needs it fails as unavailable until it is undone', async (...row) => {
  const [, change, repair, fails] = row
  const { url, file } = await newMigrated()
  const database = await openDatabase(url, 60_000)
  onTestFinished(database.close)
  const outcomes = async () => {
    const all = await Promise.all(names.map(async (name) => [name, await outcomeOf(operations[name](database))]))
    return Object.fromEntries(all)
  }
  const reason = /does not have the schema of its migrations \(.+\): undo what changed it, or restore a backup/
  const expected = (failing: typeof fails) => {
    const failure = expect.stringMatching(new RegExp(`^${file} ${reason.source}$`))
    return Object.fromEntries(names.map((name) => [name, failing.includes(name) ? failure : 'done']))
  }
  for (let round = 0; round < 2; round++) {
    expect(await outcomes()).toEqual(expected([]))
    expect(await database.whyUnavailable()).toBe(undefined)
    await runSql(url, change)
    // The second time, the statements are prepared.
    for (let time = 0; time < 2; time++) {
      const problem =
        fails.length > 0 ? expect.stringMatching(new RegExp(`^The database ${reason.source}\\.$`)) : undefined
      expect(await database.whyUnavailable()).toEqual(problem)
      expect(await outcomes()).toEqual(expected(fails))
    }
    await runSql(url, repair)
  }
})
