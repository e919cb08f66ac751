/** Moves a service from SQLite to PostgreSQL as docs/production/several-machines says, and compares every row. */
import { openDatabase } from '@plant-store/prisma'
import { expect, test } from 'vitest'
import { createMigrated, query, runSql, startOwnPostgresql } from './helpers/database/databases.ts'
import { codeBlock, GUIDES, isInstalled, readGuide, shell } from './helpers/production/guide.ts'
import { startTestServer } from './helpers/server/start-test-server.ts'
import { temporaryDatabase } from './helpers/temporary.ts'

/** A plant for each code point but NUL and surrogates: more than a million. */
const CODE_POINTS = 0x10ffff - 0x800
const INSERT_PLANTS = `
  WITH RECURSIVE points(point) AS (SELECT 1 UNION ALL SELECT point + 1 FROM points WHERE point < 0x10ffff)
  INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")
  SELECT 'account' || char(10, 34) || (point % 97), CAST(9223372036854775807 - point * 8000000000000 AS TEXT), char(point),
    CASE point % 6
      WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN char(10) || '\\.' || char(10) || char(point) WHEN 3 THEN '",' || char(13, 10)
      WHEN 4 THEN 'NULL' ELSE '\\N' || char(point, point) END,
    strftime('%Y-%m-%dT%H:%M:%f+00:00', point * 7.001, 'unixepoch')
  FROM points WHERE point NOT BETWEEN 0xd800 AND 0xdfff`
const INSERT_TOKENS = `
  INSERT INTO "Token" ("id", "hash", "account", "scopes", "label", "createdAt", "expiresAt", "revokedAt") VALUES
  ('a', 'a', 'ann', 'read write', NULL, '2026-11-21 10:11:12', NULL, NULL),
  ('b', 'b', 'béa "🪴"', 'read', char(10) || '\\.' || char(10), '2026-11-21T10:11:12.345+00:00', '2031-02-03T04:05:06.789Z',
    '2026-11-22T00:00:00.001+00:00'),
  ('c', 'c', '', 'write', '', '2026-11-21T10:11:12+02:00', '0999-01-01T00:00:00.000+00:00', NULL)`

type Row = Record<string, unknown>
/** How many rows of a table are compared at a time. */
const BATCH = 20_000

/** Returns a row, the same for both engines: times in milliseconds since 1970. */
function toComparable(row: Row): Row {
  const toValue = (name: string, value: unknown) => {
    if (value === null || !name.endsWith('At')) return value === null ? null : String(value)
    // SQLite's texts without an offset are UTC.
    return new Date(typeof value === 'string' ? value.replace(/^(\S+) (\S+)$/, '$1T$2Z') : (value as Date)).getTime()
  }
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toValue(name, value)]))
}

/** Compares a table of two databases, row by row, and returns how many rows it has. */
async function compare(one: string, other: string, table: string, key: string): Promise<number> {
  let last: unknown = table === 'Plant' ? 0 : ''
  for (let count = 0; ; count += BATCH) {
    const select = `SELECT * FROM "${table}" WHERE "${key}" > '${last}' ORDER BY "${key}" LIMIT ${BATCH}`
    const [rows = [], copied] = await Promise.all([one, other].map((url) => query<Row>(url, select)))
    const [expected, moved] = [rows.map(toComparable), copied?.map(toComparable)]
    // Vitest takes much longer to compare them, and shows the difference.
    if (JSON.stringify(moved) !== JSON.stringify(expected)) expect(moved).toEqual(expected)
    if (rows.length < BATCH) return count + rows.length
    last = rows.at(-1)?.[key]
  }
}

const whyNot = isInstalled('psql') && isInstalled('sqlite3') ? undefined : 'it needs psql and sqlite3'

test.skipIf(whyNot)(
  'a service moves: all plants, tokens, secrets, cursors, and the order of what follows',
  // On a busy machine.
  { timeout: 1_200_000 },
  async () => {
    const { file, url } = temporaryDatabase("it's plants")
    await createMigrated(url)
    const old = await startTestServer({ databaseUrl: url })
    for (const id of [1, 2, 3])
      expect((await old.post(`{"id":${id},"name":"🪴\\u2028${id}","tag":""}`)).status).toBe(200)
    const { token } = old
    const list = await (await old.call('/plants')).text()
    const page = await old.call('/plants?limit=1')
    const next = `/plants${/<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1]}`
    const rest = await (await old.call(next)).text()
    await old.close()
    await runSql(url, INSERT_PLANTS)
    await runSql(url, INSERT_TOKENS)
    // The last number that there ever was.
    await runSql(url, `INSERT INTO "Plant" ("seq", "account", "id", "name") VALUES (5000000, 'gone', '1', '')`)
    await runSql(url, `DELETE FROM "Plant" WHERE "account" = 'gone'`)

    const postgresql = await startOwnPostgresql()
    await runSql(await postgresql.create('moved'), `ALTER DATABASE moved SET TimeZone = 'Asia/Tokyo'`)
    const target = postgresql.url('moved')
    // A server was started there before.
    const opened = await openDatabase(target)
    await opened.secret('cursor')
    await opened.close()
    const before = await query(target, 'SELECT * FROM "Secret"')

    const [, ...lines] = codeBlock(readGuide('several-machines/README.md'), 'Move from SQLite').split('\n')
    /** Runs the command of the guide as this user, with these files and the database. */
    const move = (source: string) =>
      shell(
        lines
          .join('\n')
          .replace(/sudo .*? env PLANTS=\S+/, `env "PLANTS=${source}"`)
          .replace(/--file=\S*\//, `--file=${GUIDES}several-machines/`)
          .replace(/postgresql:\S+/, target),
      )
    const broken = temporaryDatabase()
    await createMigrated(broken.url)
    await runSql(broken.url, `INSERT INTO "Plant" ("account", "id", "name") VALUES ('a', '1', ''); DROP TABLE "Token"`)
    await expect(move(broken.file)).rejects.toThrow(/no such table: Token/)
    expect(await query(target, 'SELECT * FROM "Secret"')).toEqual(before)
    expect(await query(target, 'SELECT 1 FROM "Plant"')).toEqual([])

    await move(file)
    expect(await compare(url, target, 'Plant', 'seq')).toBe(CODE_POINTS + 3)
    expect(await compare(url, target, 'Token', 'id')).toBe(4)
    expect(await compare(url, target, 'Secret', 'name')).toBe(1)
    await expect(move(file)).rejects.toThrow(/this database is not empty/)

    await using server = await startTestServer({ databaseUrl: target })
    expect(await (await server.call('/plants', { token })).text()).toBe(list)
    expect(await (await server.call(next, { token })).text()).toBe(rest)
    expect((await server.call('/plants', { token })).headers.get('etag')).toMatch(/./)
    expect((await server.post('{"id":4,"name":"new"}', { token })).status).toBe(200)
    expect(await query(target, `SELECT "seq"::int FROM "Plant" WHERE "name" = 'new'`)).toEqual([
      { seq: expect.toSatisfy((seq: number) => seq > 5_000_000) },
    ])
  },
)
