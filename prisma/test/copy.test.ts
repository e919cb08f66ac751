import { expect, test } from 'vitest'
import {
  newDatabase,
  openConnection,
  query,
  runSql,
  SELECT_WAITING,
  sharedPostgresql,
} from '../../test/helpers/database/databases.ts'
import { until } from '../../test/helpers/programs.ts'
import { copyDatabase } from '../src/copy.ts'
import { openDatabase } from '../src/database.ts'
import type { OnProgress } from '../src/index.ts'

const postgresql = await sharedPostgresql()
let databases = 0
const newTarget = () => postgresql.create(`copy${++databases}`)

/** More than one batch. */
const MANY = 500

/** Inserts plants with the ids of a range. */
async function addPlants(url: string, first: number, last: number): Promise<void> {
  const { plants, close } = await openDatabase(url, { patience: 20_000 })
  const ids = Array.from({ length: last - first + 1 }, (_, index) => String(first + index))
  await plants.create(ids.map((id) => ({ account: 'many', id, name: `Monstera ${id}`, tag: null })))
  await close()
}

/** Creates a SQLite database with some plants. */
async function newSource(count = 1): Promise<string> {
  const url = await newDatabase()
  await addPlants(url, 1, count)
  return url
}

type Row = Record<string, unknown>

/** Reads everything that a database stores, the same for every engine: times in milliseconds. */
async function readStoredRows(url: string) {
  const read = async (table: string, key: string) =>
    (await query<Row>(url, `SELECT * FROM "${table}" ORDER BY "${key}"`)).map((row) => {
      const values = Object.entries(row).map(([name, value]) => {
        const text = name.endsWith('At') ? new Date(value as string).getTime() : String(value)
        return [name, value === null ? value : text]
      })
      return Object.fromEntries(values) as Row
    })
  return {
    plants: await read('Plant', 'seq'),
    tokens: await read('Token', 'id'),
    secrets: await read('Secret', 'name'),
  }
}

const UNUSUAL: [id: string, name: string, tag: string | null][] = [
  ['-9223372036854775808', 'int64, the lowest', null],
  ['9223372036854775807', 'int64, the highest', ''],
  ['9007199254740993', '', 'an empty name'],
  ['1', '🪴 e\u0301 is not é ﬀ\ufeff\ufffd', '\u{10ffff}'],
  ['2', 'line\u2028separator\u0001\u001f\t\r\n', '"quotes" \\ and \\u0000 as text'],
  ['5', 'long '.repeat(200_000), null],
]

test('everything is copied in order, and the next plant follows', async () => {
  const [source, target] = [await newSource(MANY), await newTarget()]
  const database = await openDatabase(source, { patience: 20_000 })
  // An id may be in many accounts.
  for (const account of ['ann', 'ben']) {
    await database.plants.create(UNUSUAL.map(([id, name, tag]) => ({ account, id, name, tag })))
  }
  const token = { account: 'ann', scopes: ['read', 'write'], label: null, expiresAt: null }
  await database.tokens.create({ ...token, id: 'b', hash: 'b' })
  await database.tokens.create({ ...token, id: 'B', hash: 'c', label: 'ä 🔑', expiresAt: new Date(253402300799999) })
  await database.tokens.revoke('b')
  await database.secret('cursor')
  await database.close()
  // Gaps, and numbers that were used before: the last plant is deleted.
  await runSql(source, `DELETE FROM "Plant" WHERE "seq" % 7 = 0 OR "seq" = (SELECT max("seq") FROM "Plant")`)

  const { length: plants } = (await readStoredRows(source)).plants
  const progress: number[][] = []
  const onProgress: OnProgress = (...each) => progress.push(each)
  expect(await copyDatabase(source, target, { onProgress })).toMatchObject({ plants, tokens: 2 })
  expect([progress[0], progress.at(-1)]).toEqual([
    [0, plants],
    [plants, plants],
  ])
  expect(await readStoredRows(target)).toEqual(await readStoredRows(source))
  expect(await addPlant(target)).toBeGreaterThanOrEqual(await addPlant(source))
})

/** Adds a plant, and returns its `seq`, which is the largest. */
async function addPlant(url: string): Promise<number> {
  await addPlants(url, MANY + 1, MANY + 1)
  const { plants } = await readStoredRows(url)
  expect(plants.at(-1)?.['id']).toBe(String(MANY + 1))
  return Number(plants.at(-1)?.['seq'])
}

test('a change of the source while it is copied fails the verification, and leaves the target empty', async () => {
  const [source, target] = [await newSource(MANY), await newTarget()]
  // Stops the copy at its first plants, which are read by then.
  const other = await openConnection(target)
  await other.run(`
    CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
    CREATE TRIGGER stop BEFORE INSERT ON "Plant" FOR EACH ROW WHEN (NEW."account" = 'many') EXECUTE FUNCTION stop();
    SELECT pg_advisory_lock(1)`)
  const copying = expect(copyDatabase(source, target)).rejects.toThrow(/run the same command again$/)
  await until(async () => (await other.query(SELECT_WAITING)).length > 0)
  await runSql(source, 'DELETE FROM "Plant" WHERE "seq" = 1')
  await other.close()
  await copying
  expect(await readStoredRows(target)).toEqual({ plants: [], tokens: [], secrets: [] })
})

test.each([
  ['plant', `INSERT INTO "Plant" ("account", "id", "name") VALUES ('x', 'x', 'private')`],
  ['token', `INSERT INTO "Token" ("id", "hash", "account", "scopes") VALUES ('x', 'x', 'private', 'read')`],
])('a target that has a %s is rejected and unchanged', async (found, insert) => {
  const [source, target] = [await newSource(), await newTarget()]
  await runSql(target, insert)
  const before = await readStoredRows(target)
  const reason = `is not empty, it has a ${found}: copy to a new database`
  await expect(copyDatabase(source, target)).rejects.toThrow(reason)
  expect(await readStoredRows(target)).toEqual(before)
})

test('a target on which a server was started once gets the secrets of the source', async () => {
  const [source, target] = [await newSource(), await newTarget()]
  await runSql(source, `INSERT INTO "Secret" VALUES ('cursor', 'known to clients')`)
  await runSql(target, `INSERT INTO "Secret" VALUES ('cursor', 'new'), ('other', 'new')`)
  await copyDatabase(source, target)
  expect((await readStoredRows(target)).secrets).toEqual((await readStoredRows(source)).secrets)
})

test('only SQLite is copied, and only to PostgreSQL', async () => {
  const [sqlite, postgresql] = [await newSource(), await newTarget()]
  const reason = /^\/.* cannot be copied to .*: copy from SQLite to PostgreSQL$/
  await expect(copyDatabase(sqlite, sqlite)).rejects.toThrow(reason)
  await expect(copyDatabase(postgresql, sqlite)).rejects.toThrow(/^the database "copy\d+" at .* cannot be copied to/)
})

test.each([
  [`"createdAt" = 'yesterday'`, 'invalid input syntax for type timestamp'],
  [`"name" = 'a' || char(0) || 'b'`, 'unsupported Unicode escape sequence'],
])('what PostgreSQL cannot store is rejected: %s', async (set, reason) => {
  const source = await newSource(3)
  await runSql(source, `UPDATE "Plant" SET ${set} WHERE "seq" = 2`)
  await expect(copyDatabase(source, await newTarget())).rejects.toThrow(reason)
})
