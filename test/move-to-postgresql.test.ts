/** Moves a service from SQLite to PostgreSQL as docs/production/several-machines says, and compares every row. */
import { expect, test } from 'vitest'
import { createMigrated, query, runSql, startOwnPostgresql } from './helpers/database/databases.ts'
import { codeBlock, GUIDES, isInstalled, readGuide, shell } from './helpers/production/guide.ts'
import { startTestServer } from './helpers/server/start-test-server.ts'
import { temporaryDatabase, temporaryFolder } from './helpers/temporary.ts'

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

/** Returns SQL for the digits of a text, or NULL. */
const digits = (column: string) => `CASE WHEN ${column} IS NOT NULL THEN 'x' || hex(${column}) END`
/** Returns SQL for a time, to the millisecond. */
const time = (column: string) => `strftime('%Y-%m-%d %H:%M:%f', "${column}")`
/** Every row, the same of both engines. */
const SELECT_ALL = `
  SELECT seq, ${['account', 'id', 'name', 'tag'].map(digits)}, ${time('createdAt')} FROM "Plant" ORDER BY seq;
  SELECT id, hash, ${digits('account')}, scopes, ${digits('label')}, ${['createdAt', 'expiresAt', 'revokedAt'].map(time)}
    FROM "Token" ORDER BY id;
  SELECT name, value FROM "Secret"`
/** What SQLite has and PostgreSQL has not. */
const FUNCTIONS = `
  CREATE FUNCTION hex(text) RETURNS text RETURN upper(encode(convert_to($1, 'UTF8'), 'hex'));
  CREATE FUNCTION strftime(text, timestamptz) RETURNS text
    RETURN to_char($2 AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS')`

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
    const target = await postgresql.create('moved')
    await runSql(target, `ALTER DATABASE moved SET TimeZone = 'Asia/Tokyo'`)
    // A server was started there before.
    const before = { name: 'cursor', value: 'other' }
    await runSql(target, `INSERT INTO "Secret" VALUES ('${before.name}', '${before.value}')`)

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
    expect(await query(target, 'SELECT * FROM "Secret"')).toEqual([before])
    expect(await query(target, 'SELECT 1 FROM "Plant"')).toEqual([])

    await move(file)
    await runSql(target, FUNCTIONS)
    const compare = `cd "$FOLDER"; sqlite3 "$PLANTS" "$SELECT" >expected
      psql --no-align --tuples-only --command="$SELECT" "$TARGET" >moved
      cmp expected moved; wc -l <moved`
    const env = { ...process.env, FOLDER: temporaryFolder(), PLANTS: file, SELECT: SELECT_ALL, TARGET: target }
    const [plants, tokens, secrets] = [CODE_POINTS + 3, 4, 1]
    expect(await shell(compare, { env })).toBe(`${plants + tokens + secrets}\n`)
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
