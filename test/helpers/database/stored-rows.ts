import { temporaryDatabase } from '../temporary.ts'
import { createMigrated, openConnection, query, runSql, startOwnPostgresql } from './databases.ts'

/** What a database stores, the same for every engine: times in milliseconds. */
export interface StoredRows {
  plants: Record<string, unknown>[]
  tokens: Record<string, unknown>[]
  secrets: Record<string, unknown>[]
}

/** Reads everything that a database stores, past the code under test. */
export async function readStoredRows(url: string): Promise<StoredRows> {
  const { query, close } = await openConnection(url)
  const read = async (table: string, key: string) =>
    (await query<Record<string, unknown>>(`SELECT * FROM "${table}" ORDER BY "${key}"`)).map(normalize)
  const [plants, tokens] = [await read('Plant', 'seq'), await read('Token', 'id')]
  return { plants, tokens, secrets: await read('Secret', 'name').finally(close) }
}

/** Starts a PostgreSQL for this test file, and returns what names databases of each engine that do not exist yet. */
export async function startEngines() {
  const server = await startOwnPostgresql()
  let databases = 0
  return { SQLite: () => temporaryDatabase().url, PostgreSQL: () => server.url(`copy${++databases}`) }
}

/** Reads how many plants a database stores. */
export async function countPlants(url: string): Promise<number> {
  const [row] = await query<{ count: unknown }>(url, 'SELECT count(*) AS "count" FROM "Plant"')
  return Number(row?.count)
}

/** Inserts plants of one account, one millisecond after the other. */
export async function addPlants(url: string, count: number, first = 1): Promise<void> {
  const time = url.startsWith('postgresql:')
    ? `to_timestamp(1700000000 + i / 1000.0)`
    : `strftime('%Y-%m-%dT%H:%M:%f+00:00', 1700000000 + i / 1000.0, 'unixepoch')`
  await runSql(
    url,
    `WITH RECURSIVE numbers(i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM numbers WHERE i < ${first + count - 1})
     INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")
     SELECT 'many', CAST(i AS TEXT), 'Monstera deliciosa ' || i, CASE WHEN i % 3 = 0 THEN NULL ELSE 'aroid' END, ${time}
     FROM numbers ORDER BY i`,
  )
}

/** Creates a database with some plants. */
export async function createWithPlants(url: string, count: number): Promise<string> {
  await createMigrated(url)
  await addPlants(url, count)
  return url
}

function normalize(row: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(row).map(([name, value]) => {
    if (value === null) return [name, value]
    return [name, name.endsWith('At') ? new Date(value as string).getTime() : String(value)]
  })
  return Object.fromEntries(entries)
}
