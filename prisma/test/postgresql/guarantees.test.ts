/** What a startup rejects, and what `whyUnavailable` notices later, each with a sentence that says what to do. */
import { migrateDatabase, openDatabase } from '@plant-store/prisma'
import { expect, onTestFinished, test } from 'vitest'
import { openConnection, runSql, startOwnPostgresql } from '../../../test/helpers/database/databases.ts'
import { startFaultyNetwork } from '../../../test/helpers/network/faulty-network.ts'
import { readGuide } from '../../../test/helpers/production/guide.ts'
import { freePort, until } from '../../../test/helpers/programs.ts'
import { afterFile } from '../../../test/helpers/temporary.ts'
import { translate } from '../../src/postgresql/errors.ts'
import { outcomeOf } from '../helpers/open-client.ts'
import { uses } from '../helpers/uses.ts'

/** A startup waits for a server that does not respond: it may be starting too. In milliseconds. */
const PATIENCE = 9_500
const READ_ONLY = /is read-only: DATABASE_URL must lead to the primary, and default_transaction_read_only must be off/
const NOT_ALLOWED = /does not allow this user to do that \(permission denied for table .*rights\.sql lists\.?$/
const INCOMPLETE = /lacks what a migration created \(.* does not exist\): .* search_path of this user/
const OUT_OF_ORDER =
  /does not keep plants in order: run ALTER TABLE .*, and ALTER SEQUENCE .* CACHE 1, then restart all servers\.?$/

const postgresql = await startOwnPostgresql()
const network = await startFaultyNetwork(postgresql.port)
afterFile(network[Symbol.asyncDispose])
/** The database of the tests, which leave it as it was, behind the network. */
const url = network.url('current')
const { administrate } = postgresql
const as = (role: string) => url.replace('postgres@', `${role}@`)

const rights = readGuide('several-machines/rights.sql').replaceAll('plant_store', 'PUBLIC')
/** What operations do with plants. */
const plantRights = [...rights.matchAll(/^GRANT (.*) ON "Plant"/gm)].flatMap(([, list = '']) => list.split(', '))
await runSql(await postgresql.create('current'), rights)
await administrate('CREATE ROLE changing LOGIN')
/** As a server has it open, with the role `changing`. */
const opened = await openDatabase(as('changing'), 0)
afterFile(opened.close)
// Loading Prisma Client takes longer on a busy machine than a request may.
await until(() => uses.create(opened).then(Boolean, () => false))

/** Starts as a server does, and returns the message of the error. */
const start = (address: string) =>
  outcomeOf(migrateDatabase(address).then(async () => (await openDatabase(address)).close()))

/**
 * What breaks a running server or takes its database away, the reason that says what to do, and the fix where it does
 * not follow.
 */
const CASES: [sql: string, reason: RegExp, fix?: string][] = [
  // Requests succeed, and what they store may be out of order.
  ['ALTER TABLE "Plant" DISABLE TRIGGER "Plant_order"', OUT_OF_ORDER],
  ['ALTER SEQUENCE "Plant_seq_seq" CACHE 20', OUT_OF_ORDER, 'ALTER SEQUENCE "Plant_seq_seq" CACHE 1'],
  // Requests of the role `changing` fail, in new connections at least.
  [
    'ALTER SYSTEM SET full_page_writes = off',
    /has full_page_writes = off, so that a power failure loses .*: set it to on/,
  ],
  ['ALTER ROLE changing SET default_transaction_read_only = on', READ_ONLY],
  ...plantRights.map((right): [string, RegExp] => [`REVOKE ${right} ON "Plant" FROM PUBLIC`, NOT_ALLOWED]),
  ['REVOKE SELECT ON "ListVersion" FROM PUBLIC', NOT_ALLOWED],
  // Requests would find no token, or an empty list.
  ...['Token', 'Plant', 'Secret', 'ListVersion'].map((table): [string, RegExp, string] => [
    `ALTER TABLE "${table}" ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON "${table}" USING (random() > 2) WITH CHECK (true)`,
    /hides rows from this user: .* row-level security policy for table /,
    `ALTER TABLE "${table}" DISABLE ROW LEVEL SECURITY; DROP POLICY few ON "${table}"`,
  ]),
  ['ALTER TABLE "Plant" RENAME TO "Other"', INCOMPLETE],
  ['ALTER ROLE changing SET search_path = other', INCOMPLETE],
  ['REVOKE CONNECT ON DATABASE current FROM PUBLIC', /permission denied for database .*GRANT/],
  ['ALTER DATABASE current RENAME TO taken', /does not exist: create it .*, restore it, or check DATABASE_URL/],
]

/** Returns what takes a statement back. */
const undo = (sql: string) =>
  sql
    .replace('DISABLE', 'ENABLE')
    .replace(/ SET (\w+) = \w+/, ' RESET $1')
    .replace(/REVOKE (.*) FROM/, 'GRANT $1 TO')
    .replace(/(\S+) RENAME TO (\S+)/, '$2 RENAME TO $1')

test.each(CASES)('%s: not ready, nor can a server start, until it is fixed', async (sql, reason, fix = undo(sql)) => {
  // Open connections have the settings and the rights that they have begun with.
  const isOfConnections = / DATABASE| ROLE| SYSTEM/.test(sql)
  const run = async (text: string) => {
    if (isOfConnections) network.cutAll()
    await runSql(postgresql.url(isOfConnections ? 'postgres' : 'current'), text)
    if (text.includes('SYSTEM')) await administrate('SELECT pg_reload_conf()')
    if (isOfConnections) network.cutAll()
  }
  await run(sql)
  try {
    await expect.poll(opened.whyUnavailable).toMatch(reason)
    const outcomes = await Promise.all(Object.values(uses).map((use) => outcomeOf(use(opened))))
    expect(outcomes.some((outcome) => outcome !== 'done')).toBe(reason !== OUT_OF_ORDER)
    // A startup waits for a read-only server, which may be about to become the primary.
    await expect(openDatabase(as('changing'))).rejects.toThrow(reason)
  } finally {
    await run(fix)
  }
  await expect.poll(() => outcomeOf(uses.insert(opened))).toBe('done')
  await expect.poll(opened.whyUnavailable).toBe(undefined)
  await uses.create(opened)
})

/** An error of PostgreSQL, the driver or a pooler. */
const errorOf = (code: string, message = 'own words') => Object.assign(new Error(message), { code })

const mistakes = ['42601', '42703', '22012', '23514'].map((code) => errorOf(code))
test.each([...mistakes, new TypeError('own words')])('a mistake stays as it is: %s', (error) => {
  expect(translate(error, 'd')).toBe(error)
})

test.each<[error: Error, message: RegExp]>([
  [errorOf('ZZ999'), /^d fails: ZZ999 own words$/],
  [errorOf('58000'), /^d fails: 58000 own words$/],
  [errorOf('0A000'), /^d fails: own words$/],
  [errorOf('57014'), /^d fails: own words$/],
  [errorOf('', 'This RDS Proxy requires TLS connections'), /^d cannot be reached over TLS: .*requires TLS/],
  // A sequence that is behind the plants: the next number may be free.
  [errorOf('23505', 'duplicate key value: Plant_pkey'), /^d fails: duplicate key/],
  [
    errorOf('', "RDS Proxy currently doesn't support command-line options"),
    /^d is behind a pooler .*: add pgbouncer=true/,
  ],
  [errorOf('', 'unsupported startup parameter: options'), /\(.*: options\): add pgbouncer=true .* remove options/],
  [errorOf('08P01', 'SSL required'), /^d cannot be reached over TLS.* \(SSL required\)$/],
])('any other is a state of the database: %s', (error, message) => {
  const expected = { name: 'StorageError', message: expect.stringMatching(message), cause: error }
  expect(translate(error, 'd')).toMatchObject(expected)
})

test('a startup succeeds while a transaction keeps the lock on the order of plants', async () => {
  const other = await openConnection(url)
  await other.run('BEGIN; INSERT INTO "Plant" ("account", "id", "name") VALUES (1, 1, 1)')
  await (await openDatabase(as('changing'))).close()
  await other.close()
})

test('where all connections wait for a lock, requests and a probe name the pool that is full', async () => {
  const { plants, whyUnavailable, close } = await openDatabase(`${url}?connection_limit=2`)
  const other = await openConnection(url)
  await other.run('BEGIN; LOCK TABLE "Plant" IN ACCESS EXCLUSIVE MODE')
  const reads = Array.from({ length: 6 }, () => outcomeOf(plants.read('alice', { limit: 1 })))
  const outcomes = await Promise.all([whyUnavailable(), ...reads])
  const FULL = 'keeps all 2 connections of this server waiting \\(connection_limit\\): see pg_stat_activity'
  expect(outcomes.join()).toMatch(new RegExp(FULL))
  for (const outcome of outcomes) expect(outcome).toMatch(new RegExp(`${FULL}|is locked by another transaction`))
  await other.run('ROLLBACK')
  await other.close()
  await expect.poll(whyUnavailable).toBe(undefined)
  await close()
})

test('a startup is rejected with another isolation level behind a pooler, which does not let a client set it', async () => {
  await administrate(`ALTER DATABASE current SET default_transaction_isolation = 'repeatable read'`)
  expect(await start(url)).toBe('done')
  expect(await start(`${url}?pgbouncer=true`)).toMatch(
    /has default_transaction_isolation = repeatable read: set it to read committed$/,
  )
  await administrate('ALTER DATABASE current RESET default_transaction_isolation')
})

test.concurrent.each([
  ['a port where nothing listens', 'cannot be reached (connect ECONNREFUSED', '127.0.0.1:PORT/plants'],
  ['a host that does not exist', 'cannot be reached (getaddrinfo', 'does-not-exist.invalid/plants'],
  ['a socket that does not exist', 'cannot be reached (connect ENOENT', '/plants?host=/does/not/exist'],
  ['a server that is silent', 'does not respond', '127.0.0.1:STALLED/plants'],
])('a startup waits about 10 s for %s, and says what to do', async (_, fault, address) => {
  await using silent = await startFaultyNetwork(postgresql.port)
  silent.stall()
  const { port } = new URL(silent.url('plants'))
  const place = address.replace('PORT', String(await freePort())).replace('STALLED', port)
  const begin = performance.now()
  const message = await start(`postgresql://postgres@${place}`)
  expect(message).toMatch(/^the database "plants" at /)
  expect(message).toContain(` ${fault}`)
  expect(message).toMatch(/: check that PostgreSQL runs there, DATABASE_URL and the firewall$/)
  expect(performance.now() - begin).toBeGreaterThan(PATIENCE)
})

test('a startup and a probe survive connections that are lost in each of their steps', async () => {
  for (const text of ['pg_depend', 'server_encoding', 'INSERT INTO']) {
    const cut = network.cutOnce('during', text)
    expect(await start(url), text).toBe('done')
    await cut
  }
  const { whyUnavailable, close } = await openDatabase(url)
  onTestFinished(close)
  for (const text of ['server_encoding', 'INSERT INTO']) {
    const cut = network.cutOnce('during', text)
    expect(await whyUnavailable(), text).toBe(undefined)
    await cut
  }
})
