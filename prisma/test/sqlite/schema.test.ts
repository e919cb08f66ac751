import { expect, onTestFinished, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { openDatabase } from '../../src/database.ts'
import { newMigrated, outcomeOf } from '../helpers/open-client.ts'
import { uses } from '../helpers/uses.ts'

type Name = keyof typeof uses

const INDEX = 'CREATE UNIQUE INDEX "Plant_account_id_key" ON "Plant" ("account", "id")'
const POT = 'ALTER TABLE "Plant" ADD COLUMN "pot" TEXT'
/** Keeps the name in triggers. */
const renameTo = (table: string, to: string) =>
  `PRAGMA legacy_alter_table = ON; ALTER TABLE "${table}" RENAME TO "${to}"`
const rename = (table: string) => [`the table ${table}`, renameTo(table, 'Other'), renameTo('Other', table)] as const

test.each<readonly [what: string, change: string, repair: string, fails: readonly Name[]]>([
  ['the index', 'DROP INDEX "Plant_account_id_key"', INDEX, ['insert']],
  [...rename('Plant'), ['insert', 'list', 'states']],
  [...rename('ListVersion'), ['insert', 'list', 'states']],
  [...rename('Token'), ['find', 'create', 'revoke']],
  [...rename('Secret'), ['secret']],
  ['what is not needed', POT, 'ALTER TABLE "Plant" DROP COLUMN "pot"', []],
])('where another program changes %s, what needs it fails as unavailable until it is undone', async (...row) => {
  const [, change, repair, fails] = row
  const { url, file } = await newMigrated()
  const database = await openDatabase(url, 60_000)
  onTestFinished(database.close)
  const reason = 'does not have the schema of its migrations \\(.+\\): undo what changed it, or restore a backup'
  const expectFailures = async (failing: readonly Name[]) => {
    const problem = failing.length > 0 ? expect.stringMatching(`^The database ${reason}\\.$`) : undefined
    expect(await database.whyUnavailable()).toEqual(problem)
    for (const [name, use] of Object.entries(uses)) {
      const failure = expect.stringMatching(`^${file} ${reason}$`)
      expect(await outcomeOf(use(database)), name).toEqual(failing.includes(name as Name) ? failure : 'done')
    }
  }
  // Before, no statement is prepared; the second time, all are.
  for (let round = 0; round < 2; round++) {
    await runSql(url, change)
    await expectFailures(fails)
    await runSql(url, repair)
    await expectFailures([])
  }
})
