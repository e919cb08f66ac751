import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query, runSql } from '../../../test/helpers/database/databases.ts'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import {
  addPlants,
  clonePostgresql,
  countPlants,
  createMigrated,
  createWithPlants,
  readStoredRows,
} from '../../../test/helpers/database/stored-rows.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { type CopyOptions, copyDatabase } from '../../src/copy/copy-database.ts'
import { tableDefinitions } from '../../src/copy/tables.ts'
import { openSide } from '../../src/engine.ts'
import { DatabaseError, openDatabase } from '../../src/index.ts'

let server: PostgresqlServer
beforeAll(async () => {
  server = await startPostgresql()
})
afterAll(() => server.remove())

let databases = 0
const newUrl = {
  SQLite: () => temporaryDatabase().url,
  PostgreSQL: () => server.url(`copy${++databases}`),
}
type Engine = keyof typeof newUrl

const DIRECTIONS: [Engine, Engine][] = [
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
  ['SQLite', 'SQLite'],
  ['PostgreSQL', 'PostgreSQL'],
]
/** Runs SQL and blocks this process until it has ended, so that a copy does not go on meanwhile. */
function runSqlAndWait(url: string, sql: string): void {
  const script = `
    const [, url, sql] = process.argv
    if (url.startsWith('postgresql:')) {
      const client = new (require('pg').Client)(url)
      client.connect().then(() => client.query(sql)).then(() => client.end())
    } else {
      new (require('better-sqlite3'))(require('url').fileURLToPath(url)).exec(sql)
    }`
  const cwd = fileURLToPath(new URL('../../', import.meta.url))
  execFileSync(process.execPath, ['--eval', script, url, sql], { cwd })
}

/** More than one batch. */
const MANY = 5_000

const copy = (from: string, to: string, options?: CopyOptions) =>
  copyDatabase({ url: from, setting: '--from' }, { url: to, setting: '--to' }, options)

const UNUSUAL: [id: string, name: string, tag: string | null][] = [
  ['-9223372036854775808', 'int64, the lowest', null],
  ['9223372036854775807', 'int64, the highest', ''],
  ['9007199254740993', '', 'an empty name'],
  ['1', '🪴 emoji 👩🏽‍🌾', '\u{10ffff}'],
  ['2', 'line\u2028separator\u2029\u0001\u001f\t\r\n', '"quotes" \\ and \\u0000 as text'],
  ['3', 'e\u0301 is not é', 'ﬀ\ufeff\ufffd'],
  ['4', '\'); DROP TABLE "Plant"; --', '$1 ? %s'],
  ['5', 'long '.repeat(200_000), null],
]

/** Fills a database with what is hard to copy, and returns how many plants it has. */
async function fill(url: string): Promise<number> {
  await createWithPlants(url, MANY)
  const database = await openDatabase(url)
  for (const [index, [id, name, tag]] of UNUSUAL.entries()) {
    // An id may be in many accounts.
    await database.plants.insert([
      { account: 'ann', id, name, tag },
      { account: `ben ${index}`, id, name, tag: name },
    ])
  }
  const token = { account: 'ann', scopes: ['read', 'write'], label: null, expiresAt: null }
  await database.tokens.create({ ...token, id: 'b', hash: 'b'.repeat(64) })
  await database.tokens.create({
    ...token,
    id: 'B',
    hash: 'c'.repeat(64),
    label: 'ä 🔑',
    expiresAt: new Date(253402300799999),
  })
  await database.tokens.create({ ...token, id: 'a', hash: 'd'.repeat(64), scopes: ['read'] })
  await database.tokens.revoke('a')
  await database.secret('cursor')
  await database.close()
  // Gaps, and numbers that were used before: the last plant is deleted.
  await runSql(url, `DELETE FROM "Plant" WHERE "seq" % 7 = 0`)
  await addPlants(url, 1, MANY + 1)
  await runSql(url, `DELETE FROM "Plant" WHERE "seq" = (SELECT max("seq") FROM "Plant")`)
  return countPlants(url)
}

/** Inserts a plant and returns its `seq`. */
async function nextSeq(url: string): Promise<number> {
  const database = await openDatabase(url)
  await database.plants.insert([{ account: 'next', id: '1', name: 'next', tag: null }])
  const { last } = await database.plants.list('next')
  await database.close()
  return last
}

describe.each(DIRECTIONS)('from %s to %s', (from, to) => {
  test('everything is copied in order, once, and the next plant follows', async () => {
    const [source, target] = [newUrl[from](), newUrl[to]()]
    const plants = await fill(source)
    const original = await readStoredRows(source)

    const first = await copy(source, target)
    expect(first).toMatchObject({
      plants,
      tokens: 3,
      changed: plants + 3 + 1,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    const copied = await readStoredRows(target)
    // Comparing thousands of objects one by one takes seconds.
    expect(JSON.stringify(copied.plants) === JSON.stringify(original.plants)).toBe(true)
    expect(copied.plants.length).toBe(plants)
    expect([copied.tokens, copied.secrets]).toEqual([original.tokens, original.secrets])
    expect(JSON.stringify(await readStoredRows(source)) === JSON.stringify(original)).toBe(true)

    expect(await copy(source, target)).toEqual({ ...first, changed: 0 })
    expect(await nextSeq(target)).toBe(await nextSeq(source))
  })

  test('a copy that was interrupted continues where it ended', async () => {
    const [source, target] = [await createWithPlants(newUrl[from](), 3 * MANY), newUrl[to]()]
    const interrupt = new AbortController()
    const interrupted = copy(source, target, {
      signal: interrupt.signal,
      onProgress: ({ phase, plants }) => {
        if (phase === 'copying' && plants > MANY) interrupt.abort(new Error('interrupted'))
      },
    })
    await expect(interrupted).rejects.toThrow('interrupted')
    const half = await countPlants(target)
    expect(half).toBeGreaterThan(0)
    expect(half).toBeLessThan(3 * MANY)
    const fractions: number[] = []
    const rest = await copy(source, target, { onProgress: ({ begin }) => fractions.push(begin) })
    expect(rest).toMatchObject({ plants: 3 * MANY, changed: 3 * MANY - half })
    expect(fractions).toContain(half / (3 * MANY))
    expect(JSON.stringify(await readStoredRows(target)) === JSON.stringify(await readStoredRows(source))).toBe(true)
  })

  test('a second copy adds what the source got meanwhile, also revocations', async () => {
    const [source, target] = [newUrl[from](), newUrl[to]()]
    await fill(source)
    await copy(source, target)
    const database = await openDatabase(source)
    await database.tokens.revoke('b')
    const token = { account: 'new', scopes: ['read'], label: null, expiresAt: null }
    await database.tokens.create({ ...token, id: 'aa', hash: 'e'.repeat(64) })
    await database.secret('another')
    await database.plants.insert([{ account: 'new', id: '1', name: 'new', tag: null }])
    await database.close()
    expect(await copy(source, target)).toMatchObject({ tokens: 4, changed: 4 })
    expect(JSON.stringify(await readStoredRows(target)) === JSON.stringify(await readStoredRows(source))).toBe(true)
  })

  test('a change of the source while it is copied fails the verification', async () => {
    const [source, target] = [await createWithPlants(newUrl[from](), MANY), newUrl[to]()]
    let isChanged = false
    const onProgress: CopyOptions['onProgress'] = ({ phase }) => {
      // The first plants are read by then.
      if (phase !== 'copying' || isChanged) return
      runSqlAndWait(source, `UPDATE "Plant" SET "name" = 'changed' WHERE "seq" = 1`)
      isChanged = true
    }
    await expect(copy(source, target, { onProgress })).rejects.toThrow(
      new RegExp(
        `^.*${MANY} plants and 0 tokens, .*${MANY} plants and 0 tokens, and they differ.* run the same command`,
      ),
    )
  })
})

describe.each<Engine>(['SQLite', 'PostgreSQL'])('a target of %s with other data', (to) => {
  const plantWith = (seq: number) => `
    INSERT INTO "Plant" ("seq", "account", "id", "name") ${to === 'SQLite' ? '' : 'OVERRIDING SYSTEM VALUE'}
    VALUES (${seq}, 'x', 'x', 'x')`
  const TIME = `'2026-01-01T00:00:00.000+00:00'`
  const TOKEN = `INSERT INTO "Token" ("id", "hash", "account", "scopes") VALUES ('x', 'x', 'x', 'read')`
  const cases: [sql: string, sentence: RegExp][] = [
    [plantWith(7), /the plant with seq 7 is not in /],
    [plantWith(12), /the plant with seq 12 has another account than in /],
    [plantWith(13), /the plant with seq 12 of .* is missing, but later ones are there/],
    [`DELETE FROM "Plant" WHERE "seq" = 5`, /the plant with seq 5 of .* is missing, but later ones are there/],
    [`UPDATE "Plant" SET "name" = 'x' WHERE "seq" = 5`, /the plant with seq 5 has another name than in /],
    [`UPDATE "Plant" SET "tag" = '' WHERE "seq" = 3`, /the plant with seq 3 has another tag than in /],
    [`UPDATE "Plant" SET "createdAt" = ${TIME} WHERE "seq" = 1`, /another createdAt than in /],
    [TOKEN, /the token with id "x" is not in /],
    [`UPDATE "Token" SET "label" = 'private' WHERE "id" = 'b'`, /the token with id "b" has another label than in /],
    [`UPDATE "Token" SET "revokedAt" = ${TIME} WHERE "id" = 'b'`, /"b" has another revokedAt than in /],
    [`INSERT INTO "Secret" VALUES ('another', 'private')`, /the secret with name "another" is not in /],
    [`UPDATE "Secret" SET "value" = 'private'`, /the secret with name "cursor" has another value than in /],
  ]
  let source: string
  let complete: string
  beforeAll(async () => {
    source = await createWithPlants(newUrl.SQLite(), 11)
    await runSql(source, 'DELETE FROM "Plant" WHERE "seq" = 7')
    const database = await openDatabase(source)
    const token = { account: 'ann', scopes: ['read'], label: null, expiresAt: null }
    await database.tokens.create({ ...token, id: 'b', hash: 'b' })
    await database.secret('cursor')
    await database.close()
    complete = newUrl[to]()
    await copy(source, complete)
    await addPlants(source, 1, 12)
  })

  test.each(cases)('is rejected and unchanged: %s', async (sql, sentence) => {
    const target = newUrl[to]()
    if (to === 'SQLite') copyFileSync(fileURLToPath(complete), fileURLToPath(target))
    else await clonePostgresql(complete, target)
    await runSql(target, sql)
    const before = await readStoredRows(target)
    const error = await copy(source, target).catch((reason) => reason)
    expect(error).toBeInstanceOf(DatabaseError)
    expect(error.message).toMatch(sentence)
    expect(error.message).toMatch(/Nothing was copied: choose a new database as the target/)
    expect(error.message).not.toContain('private')
    expect(await readStoredRows(target)).toEqual(before)
  })

  test('is rejected if the source is empty', async () => {
    const empty = newUrl.SQLite()
    await createMigrated(empty)
    await runSql(empty, `INSERT INTO "Secret" SELECT 'cursor', 'x'`)
    await expect(copy(empty, complete)).rejects.toThrow(/the secret with name "cursor" has another value/)
    await runSql(empty, 'DELETE FROM "Secret"')
    await expect(copy(empty, complete)).rejects.toThrow(/the secret with name "cursor" is not in /)
  })
})

test('a target that has all plants of the source and more is rejected', async () => {
  const [source, target] = [newUrl.SQLite(), newUrl.SQLite()]
  await createWithPlants(source, 2)
  await createWithPlants(target, 3)
  await expect(copy(source, target)).rejects.toThrow(/the plant with seq 3 is not in /)
})

test('the same database on both sides is rejected, however it is written', async () => {
  const { file, url } = temporaryDatabase()
  await createWithPlants(url, 1)
  const link = path.join(temporaryFolder(), 'link.db')
  symlinkSync(file, link)
  const shared = await createWithPlants(newUrl.PostgreSQL(), 1)
  for (const [from, to] of [
    [url, url],
    [url, `file:${link}`],
    [shared, shared.replace('127.0.0.1', 'localhost')],
  ] as const) {
    await expect(copy(from, to)).rejects.toThrow(
      /is both the source and the target: check --from, --to and DATABASE_URL$/,
    )
  }
})

test('a source that does not exist or is not migrated is rejected with what to run, and nothing is created', async () => {
  const [missing, target] = [temporaryDatabase(), temporaryDatabase()]
  await expect(copy(missing.url, target.url)).rejects.toThrow(
    `${missing.file} does not exist: run "plant-store migrate" with it as DATABASE_URL to create it, or check --from`,
  )
  writeFileSync(missing.file, '')
  await expect(copy(missing.url, target.url)).rejects.toThrow(/needs the migrations .*"plant-store migrate" with it/)
  await expect(copy(newUrl.PostgreSQL(), target.url)).rejects.toThrow(/does not exist: run .* or check --from$/)
  expect(() => readFileSync(target.file)).toThrow('ENOENT')
})

test('a target that belongs to another program is rejected', async () => {
  const source = await createWithPlants(newUrl.SQLite(), 1)
  const { file, url } = temporaryDatabase()
  await runSql(url, 'CREATE TABLE "Customer" ("id" INTEGER)')
  await expect(copy(source, url)).rejects.toThrow(`${file} belongs to another program`)
})

test('a text with NUL, which only SQLite stores, and an invalid time are rejected with the row', async () => {
  for (const [set, reason] of [
    [`"name" = 'a' || char(0) || 'b'`, 'a NUL in name of the plant with seq 2'],
    [`"createdAt" = 'yesterday'`, 'a createdAt that is not a time of the plant with seq 2'],
  ]) {
    const source = await createWithPlants(newUrl.SQLite(), 3)
    await runSql(source, `UPDATE "Plant" SET ${set} WHERE "seq" = 2`)
    for (const engine of ['SQLite', 'PostgreSQL'] as const) {
      await expect(copy(source, newUrl[engine]())).rejects.toThrow(`has ${reason}: change it and retry`)
    }
  }
})

test('times that were written to SQLite by hand are copied to the millisecond', async () => {
  const source = await createWithPlants(newUrl.SQLite(), 3)
  await runSql(
    source,
    `UPDATE "Plant" SET "createdAt" = '2026-11-21 01:02:03' WHERE "seq" = 1;
     UPDATE "Plant" SET "createdAt" = 1700000000123 WHERE "seq" = 2;
     UPDATE "Plant" SET "createdAt" = '1969-12-31T23:59:59.999Z' WHERE "seq" = 3`,
  )
  for (const engine of ['SQLite', 'PostgreSQL'] as const) {
    const target = newUrl[engine]()
    await copy(source, target)
    const times = (await readStoredRows(target)).plants.map(({ createdAt }) => createdAt)
    expect(times).toEqual([Date.UTC(2026, 10, 21, 1, 2, 3), 1700000000123, -1])
  }
})

test.each<Engine>(['SQLite', 'PostgreSQL'])('a batch of %s has fewer rows where they are long', async (engine) => {
  const url = newUrl[engine]()
  await createMigrated(url)
  const database = await openDatabase(url)
  const megabyte = 'x'.repeat(2 ** 20)
  for (let id = 1; id <= 5; id++) {
    await database.plants.insert([{ account: 'a', id: String(id), name: megabyte.repeat(id === 3 ? 5 : 1), tag: null }])
  }
  await database.close()
  const side = await openSide(url, 'source')
  const sizes: number[] = []
  for (let after = 0; ; ) {
    const rows = await side.tables.Plant.read(after)
    if (rows.length === 0) break
    sizes.push(rows.length)
    after = Number(rows.at(-1)?.[0])
  }
  await side.close()
  expect(sizes).toEqual([1, 1, 1, 1, 1])
})

test('a source of SQLite is opened so that it cannot be written', async () => {
  const source = await createWithPlants(newUrl.SQLite(), 1)
  const side = await openSide(source, 'source')
  await expect(side.continueAfter(10)).rejects.toThrow(DatabaseError)
  await side.close()
})

test('the columns of all tables but Edits are copied', () => {
  const schema = readFileSync(fileURLToPath(new URL('../../schema.prisma', import.meta.url)), 'utf8')
  const models = [...schema.matchAll(/^model (\w+) \{\n(.*?)^\}/gms)].map(([, name, body = '']) => [
    name,
    [...body.matchAll(/^ {2}(\w+) +(String|Int|DateTime)\b/gm)].map(([, column]) => column).sort(),
  ])
  const definitions = Object.entries(tableDefinitions).map(([name, { columns }]) => [name, Object.keys(columns).sort()])
  expect(Object.fromEntries(definitions)).toEqual(Object.fromEntries(models.filter(([name]) => name !== 'Edits')))
})

test('an empty database is copied', async () => {
  const [source, target] = [newUrl.SQLite(), newUrl.PostgreSQL()]
  await createMigrated(source)
  expect(await copy(source, target)).toMatchObject({ plants: 0, tokens: 0, changed: 0 })
  expect(await query(target, 'SELECT * FROM "Secret"')).toEqual([])
  expect(await nextSeq(target)).toBe(1)
})
