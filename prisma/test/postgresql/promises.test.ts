/** What a startup rejects, and what `whyUnavailable` notices later, each with a sentence that says what to do. */
import { createServer } from 'node:net'
import { migrateDatabase, openDatabase } from '@plant-store/prisma'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openConnection, runSql } from '../../../test/helpers/database/databases.ts'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { type FaultyNetwork, startFaultyNetwork } from '../../../test/helpers/network/faulty-network.ts'

/** Far more than a rejection takes that is not retried, and less than one that is, in milliseconds. */
const PROMPT = 8_000
/** A startup waits for a server that does not respond: it may be starting too. In milliseconds. */
const PATIENCE = 9_500
const PLANT = { account: 'alice', id: '1', name: 'Ficus', tag: null }
const REPLACED_LOCK = `
  CREATE OR REPLACE FUNCTION "Plant_order"() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`

let postgresql: PostgresqlServer
let network: FaultyNetwork
let url: string
let number = 0
beforeAll(async () => {
  postgresql = await startPostgresql()
  network = await startFaultyNetwork(postgresql.port)
  await migrateDatabase(postgresql.url('template'))
})
afterAll(async () => {
  await network?.[Symbol.asyncDispose]()
  await postgresql?.remove()
})
beforeEach(async () => {
  url = network.url(await copyTemplate())
})

async function copyTemplate(): Promise<string> {
  const name = `test-${number++}`
  await administrate(`CREATE DATABASE "${name}" TEMPLATE template`)
  return name
}

const administrate = (sql: string) => runSql(postgresql.url('postgres'), sql)

/** The database of {@link url}, for `ALTER DATABASE`. */
const database = () => `"${new URL(url).pathname.slice(1)}"`

/** Starts as a server does, and returns the message of the error. */
async function startAndFail(address: string): Promise<string> {
  try {
    await migrateDatabase(address)
    const opened = await openDatabase(address)
    await opened.close()
    return 'no error'
  } catch (error) {
    expect(error).toMatchObject({ name: 'DatabaseError' })
    return (error as Error).message
  }
}

/** Each with its fix, for the whole server or for {@link url}. */
const BROKEN: [name: string, message: RegExp, cause: () => Promise<void>, fix: () => Promise<void>][] = [
  ...['fsync', 'full_page_writes', 'synchronous_commit'].map((setting): (typeof BROKEN)[number] => [
    `${setting} = off of the server`,
    new RegExp(`has ${setting} = off, so that a power failure loses plants that were acknowledged: set it to on`),
    () => reload(`ALTER SYSTEM SET ${setting} = off`),
    () => reload(`ALTER SYSTEM RESET ${setting}`),
  ]),
  [
    'synchronous_commit = off of the database, in new connections',
    /has synchronous_commit = off, so that a power failure/,
    () => change(`ALTER DATABASE ${database()} SET synchronous_commit = off`),
    () => change(`ALTER DATABASE ${database()} RESET synchronous_commit`),
  ],
  [
    'synchronous_commit = off of the role, in new connections',
    /has synchronous_commit = off, so that a power failure/,
    () => change('ALTER ROLE postgres SET synchronous_commit = off'),
    () => change('ALTER ROLE postgres RESET synchronous_commit'),
  ],
  [
    'a disabled trigger',
    /lacks the trigger "Plant_order" on "Plant", or it is disabled: run ALTER TABLE "Plant" ENABLE TRIGGER ALL/,
    () => runSql(url, 'ALTER TABLE "Plant" DISABLE TRIGGER "Plant_order"'),
    () => runSql(url, 'ALTER TABLE "Plant" ENABLE TRIGGER "Plant_order"'),
  ],
  [
    'a dropped trigger',
    /lacks the trigger "Plant_truncated" on "Plant"/,
    () => runSql(url, 'DROP TRIGGER "Plant_truncated" ON "Plant"'),
    () =>
      runSql(
        url,
        `CREATE TRIGGER "Plant_truncated" AFTER TRUNCATE ON "Plant"
         FOR EACH STATEMENT EXECUTE FUNCTION "Plant_truncated"()`,
      ),
  ],
  [
    'numbers that are handed out ahead',
    /does not number plants one after the other: run ALTER SEQUENCE "Plant_seq_seq" INCREMENT 1 CACHE 1/,
    () => runSql(url, 'ALTER SEQUENCE "Plant_seq_seq" CACHE 10'),
    () => runSql(url, 'ALTER SEQUENCE "Plant_seq_seq" CACHE 1'),
  ],
  [
    'read-only transactions, in new connections',
    /is read-only: DATABASE_URL must lead to the primary, and default_transaction_read_only must be off/,
    () => change(`ALTER DATABASE ${database()} SET default_transaction_read_only = on`),
    () => change(`ALTER DATABASE ${database()} RESET default_transaction_read_only`),
  ],
]

async function reload(sql: string): Promise<void> {
  await administrate(sql)
  await administrate('SELECT pg_reload_conf()')
}

/** Changes a default of new connections, and closes the open ones. */
async function change(sql: string): Promise<void> {
  await administrate(sql)
  network.cutAll()
}

// A startup waits for a read-only server, which may be about to become the primary.
const startups = BROKEN.filter(([name]) => isLong || !name.startsWith('read-only'))
test.each(startups)('%s: a startup is rejected', { timeout: 60_000 }, async (_, message, cause, fix) => {
  await cause()
  try {
    expect(await startAndFail(url)).toMatch(message)
  } finally {
    await fix()
  }
  expect(await startAndFail(url)).toBe('no error')
})

test.each(BROKEN)('%s: a running server is not ready, until it is fixed', async (_, message, cause, fix) => {
  const opened = await openDatabase(url)
  try {
    expect(await opened.whyUnavailable()).toBe(undefined)
    await cause()
    try {
      await expect.poll(opened.whyUnavailable, { timeout: 20_000 }).toMatch(message)
    } finally {
      await fix()
    }
    await expect.poll(opened.whyUnavailable, { timeout: 20_000 }).toBe(undefined)
    expect(await opened.plants.insert([PLANT])).toBe(1)
  } finally {
    await opened.close()
  }
})

describe('a startup is rejected', () => {
  test('with an order lock without effect', async () => {
    await runSql(url, REPLACED_LOCK)
    expect(await startAndFail(url)).toMatch(/does not keep plants in order, .*: use PostgreSQL itself$/)
  })

  test('with another encoding than UTF-8', async () => {
    await administrate(`CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc`)
    expect(await startAndFail(postgresql.url('ascii'))).toMatch(/has the encoding SQL_ASCII, .*: create one with UTF8$/)
  })

  test('with another isolation level, behind a pooler, which does not let a client set it', async () => {
    await administrate(`ALTER DATABASE ${database()} SET default_transaction_isolation = 'repeatable read'`)
    expect(await startAndFail(url)).toBe('no error')
    expect(await startAndFail(`${url}?pgbouncer=true`)).toMatch(
      /has default_transaction_isolation = repeatable read: set it to read committed$/,
    )
  })

  test('by a role without rights', async () => {
    await administrate('CREATE ROLE stranger LOGIN')
    expect(await startAndFail(url.replace('postgres@', 'stranger@'))).toMatch(/does not allow this user to do that/)
    const missing = postgresql.url('missing').replace('postgres@', 'stranger@')
    expect(await startAndFail(missing)).toMatch(/does not exist, and this user cannot create it: run CREATE DATABASE/)
    expect(await startAndFail(url.replace('postgres@', 'unknown@'))).toMatch(/rejects this user or password/)
  })

  test('promptly on an unknown database that is not to be created', async () => {
    const begin = performance.now()
    await expect(openDatabase(postgresql.url('missing'))).rejects.toThrow(/does not exist: run "plant-store migrate"/)
    expect(performance.now() - begin).toBeLessThan(PROMPT)
  })
})

describe.concurrent('a startup waits about 10 s for', { timeout: 60_000 }, () => {
  const CLOSED = 'cannot be reached: nothing listens there; start PostgreSQL, or correct host and port in DATABASE_URL'
  const UNKNOWN = 'cannot be reached: its host name is unknown; correct it in DATABASE_URL, or check DNS'
  const SILENT = 'does not respond: check that PostgreSQL runs there, DATABASE_URL and the firewall'
  const at = (port: number, host = '127.0.0.1') => `postgresql://postgres@${host}:${port}/plants`
  const CASES: [name: string, sentence: string, connect: () => Promise<string>][] = [
    ['a port where nothing listens', CLOSED, async () => at(await freePort())],
    ['a name with several addresses, where nothing listens', CLOSED, async () => at(await freePort(), 'localhost')],
    ['a host that does not exist', UNKNOWN, async () => 'postgresql://postgres@does-not-exist.invalid/plants'],
    ['a socket that does not exist', CLOSED, async () => 'postgresql://postgres@/plants?host=/does/not/exist'],
    ['a server that is not PostgreSQL', SILENT, async () => at(await startWebServer())],
    ['a server that is silent', SILENT, async () => at(await startSilentServer())],
  ]
  const servers: ReturnType<typeof createServer>[] = []
  afterAll(() => {
    for (const server of servers) server.close()
  })

  async function listen(server: ReturnType<typeof createServer>): Promise<number> {
    servers.push(server)
    const port = await freePort()
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    return port
  }

  const startWebServer = () =>
    listen(createServer((socket) => void socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n')))
  const startSilentServer = () => listen(createServer((socket) => void socket.on('error', () => {}).resume()))

  test.runIf(isLong).each(CASES)('%s, and says what to do', async (_, sentence, connect) => {
    const begin = performance.now()
    expect(await startAndFail(await connect())).toMatch(new RegExp(`^the database "plants" at .* ${sentence}$`))
    expect(performance.now() - begin).toBeGreaterThan(PATIENCE)
  })

  test('PostgreSQL, which comes up meanwhile', async () => {
    const late = await startFaultyNetwork(await freePort())
    const starting = startAndFail(late.url('late'))
    setTimeout(() => late.lead(postgresql.port), 1_000)
    expect(await starting).toBe('no error')
    await late[Symbol.asyncDispose]()
  })
})

test('a startup survives connections that are lost in each of its steps', async () => {
  for (const text of ['SELECT 1', 'pg_is_in_recovery', 'full_page_writes', 'INSERT INTO']) {
    const cut = network.cutOnce('during', text)
    expect(await startAndFail(url), text).toBe('no error')
    await cut
  }
})

/** What takes a database from a running server, the reason that names what to do, and what gives it back. */
const TAKEN: [sql: string, reason: RegExp, fix: string][] = [
  ...['"Plant"', '"Token"', '"Edits"', '"Secret"'].map((table): (typeof TAKEN)[number] => [
    `REVOKE SELECT ON ${table} FROM changing`,
    /does not allow this user to do that \(permission denied for table .*rights\.sql lists\.$/,
    `GRANT SELECT ON ${table} TO changing`,
  ]),
  ...['INSERT', 'ALL'].map((right): (typeof TAKEN)[number] => [
    `REVOKE ${right} ON "Plant" FROM changing`,
    /does not allow this user to do that \(permission denied for table Plant\)/,
    'GRANT SELECT, INSERT ON "Plant" TO changing',
  ]),
  ...[
    [
      'DROP TABLE "Secret"',
      'CREATE TABLE "Secret" (name TEXT PRIMARY KEY, value TEXT); GRANT ALL ON "Secret" TO changing',
    ],
    ['ALTER TABLE "Plant" RENAME TO "Other"', 'ALTER TABLE "Other" RENAME TO "Plant"'],
    ['ALTER TABLE "Plant" RENAME "tag" TO "other"', 'ALTER TABLE "Plant" RENAME "other" TO "tag"'],
    ['ALTER SCHEMA public RENAME TO other', 'ALTER SCHEMA other RENAME TO public'],
    ['REVOKE USAGE ON SCHEMA public FROM PUBLIC', 'GRANT USAGE ON SCHEMA public TO PUBLIC'],
    ['ALTER ROLE changing SET search_path = other', 'ALTER ROLE changing RESET search_path'],
  ].map(([sql = '', fix = '']): (typeof TAKEN)[number] => [
    sql,
    /lacks what a migration created \(.* does not exist\): .* search_path of this user/,
    fix,
  ]),
  ['ALTER ROLE changing NOLOGIN', /rejects this user or password/, 'ALTER ROLE changing LOGIN'],
  ['ALTER ROLE changing RENAME TO other', /rejects this user or password/, 'ALTER ROLE other RENAME TO changing'],
  [
    'REVOKE CONNECT ON DATABASE current FROM PUBLIC',
    /permission denied for database .*GRANT/,
    'GRANT CONNECT ON DATABASE current TO PUBLIC',
  ],
  [
    'ALTER DATABASE current RENAME TO taken',
    /does not exist: run .*, restore it, or check DATABASE_URL/,
    'ALTER DATABASE taken RENAME TO current',
  ],
  [
    'ALTER DATABASE current SET default_transaction_read_only = on',
    /is read-only: .* default_transaction_read_only must be off/,
    'ALTER DATABASE current RESET default_transaction_read_only',
  ],
  // Connections with the new default lose commits, so no write may use them.
  [
    'ALTER DATABASE current SET synchronous_commit = off',
    /has synchronous_commit = off/,
    'ALTER DATABASE current RESET synchronous_commit',
  ],
]

describe('a running server is unavailable, which is not a fault of its own, after', { timeout: 60_000 }, () => {
  beforeAll(() => administrate('CREATE ROLE changing LOGIN'))

  test.each(TAKEN)('%s', async (sql, reason, fix) => {
    await runSql(url, 'GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO changing')
    const run = (text: string) =>
      (/DATABASE|ROLE/.test(text) ? administrate : (each: string) => runSql(postgresqlUrl, each))(
        text.replace('current', database()),
      )
    const postgresqlUrl = url
    const opened = await openDatabase(url.replace('postgres@', 'changing@'), { patience: 0 })
    const uses = [
      () => opened.plants.insert([PLANT]),
      () => opened.plants.find([PLANT]),
      () => opened.plants.changes([{ account: 'alice', last: 0 }]),
      () => opened.plants.list('alice'),
      () => opened.tokens.find('hash'),
      () => opened.secret('cursor'),
    ]
    try {
      expect(await opened.whyUnavailable()).toBe(undefined)
      network.cutAll()
      await run(sql)
      await expect.poll(opened.whyUnavailable, { timeout: 20_000 }).toMatch(reason)
      const failures = await Promise.all(uses.map((use) => use().then(() => [], opened.failure)))
      const unavailable = { message: expect.stringMatching(/unavailable/), retryAfter: 5 }
      expect(failures.flat()).toEqual(failures.flat().map(() => expect.objectContaining(unavailable)))
      expect(failures.flat()).not.toEqual([])
    } finally {
      await run(fix)
    }
    await expect.poll(() => opened.plants.insert([PLANT]).catch(opened.failure)).toBeTypeOf('number')
    await expect.poll(opened.whyUnavailable).toBe(undefined)
    await opened.close()
  })

  test.each(['Plant', 'Token', 'Edits', 'Secret'])('LOCK TABLE "%s", until its transaction ends', async (table) => {
    const opened = await openDatabase(url)
    const other = await openConnection(url)
    await other.run(`SET application_name = 'forgotten psql'; BEGIN; LOCK TABLE "${table}"`)
    expect(await opened.whyUnavailable()).toMatch(/^A transaction .* blocks requests: .*"forgotten psql"\.$/)
    await other.run('COMMIT')
    expect(await opened.whyUnavailable()).toBe(undefined)
    await other.close()
    await opened.close()
  })
})
