/**
 * What each operation of Prisma Client promises by itself. That files are guarded is shown in
 * sqlite/file-guard.test.ts.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { openConnection, query, runSql, sharedPostgresql } from '../../test/helpers/database/databases.ts'
import { type Moment, startFaultyNetwork } from '../../test/helpers/network/faulty-network.ts'
import { afterFile } from '../../test/helpers/temporary.ts'
import { type Prisma, StorageError } from '../src/engine.ts'
import type { PrismaClient } from '../src/generated/sqlite/client.ts'
import { statements } from '../src/postgresql/statements.ts'
import { openClient, openNewClient, outcomeOf, type TestClient } from './helpers/open-client.ts'

/**
 * Operations that only this test has: of a model and as SQL, to write and to read. A trigger counts how often each
 * write runs.
 */
const writes = {
  model: ({ secret }: PrismaClient) =>
    secret.update({ where: { name: 'test' }, data: { value: 'model' }, select: { name: true } }),
  raw: (prisma: PrismaClient) => prisma.$executeRaw`UPDATE "Secret" SET "value" = 'raw'`,
}
const reads = {
  model: ({ secret }: PrismaClient) => secret.findFirst({ where: { name: 'test' } }),
  raw: (prisma: PrismaClient) => prisma.$queryRaw`SELECT "value" FROM "Secret"`,
}
/** What would be joined with the requests of other accounts does not compile. */
export const joined = ({ plant }: Prisma) => [
  // @ts-expect-error: docs/decisions/013-prisma-client.md
  plant.findUnique,
  // @ts-expect-error: the same
  plant.findUniqueOrThrow,
]
const INSERT = `INSERT INTO "Secret" VALUES ('test', '')`

/** Returns the failure of an operation; undefined: it succeeded. */
const failure = (operation: Promise<unknown>) =>
  operation.then(
    () => undefined,
    (error: unknown) => (error instanceof StorageError ? { fault: error.fault } : String(error)),
  )

/**
 * Statements of requests, whose texts have the conditions of their promises, and operations of Prisma Client, with
 * whether a standby rejects them: where a statement of requests writes, PostgreSQL itself does.
 */
const uses: [
  name: string,
  kind: 'read' | 'write',
  rejectsStandby: boolean,
  use: (client: TestClient) => Promise<unknown>,
][] = [
  ...Object.entries(statements).map(([name, statement]): (typeof uses)[number] => {
    const last = Math.max(0, ...[...statement.sql.matchAll(/\$(\d)/g)].map(([, number]) => Number(number)))
    const values = last === 1 ? ['[]'] : ['alice', 0, 9, 1, 9, 'x', 'x'].slice(0, last)
    if (statement.kind === 'read') return [name, 'read', true, ({ read }) => read(statement, values)]
    return [name, 'write', false, ({ write }) => write(statement, values)]
  }),
  ['a read of a model', 'read', true, ({ prisma }) => reads.model(prisma)],
  ['a read as SQL', 'read', true, ({ prisma }) => reads.raw(prisma)],
  ['a write of a model', 'write', true, ({ prisma }) => writes.model(prisma)],
  ['a write as SQL', 'write', true, ({ prisma }) => writes.raw(prisma)],
]

const postgresql = await sharedPostgresql()
const network = await startFaultyNetwork(postgresql.port)
afterFile(network[Symbol.asyncDispose])
await runSql(
  await postgresql.create('promises'),
  `CREATE ROLE changing LOGIN SUPERUSER PASSWORD 'secret';
   CREATE SCHEMA shadow; CREATE FUNCTION shadow.pg_is_in_recovery() RETURNS boolean RETURN true;
   CREATE TABLE "Writes" ();
   CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN INSERT INTO public."Writes" DEFAULT VALUES; RETURN NULL; END $$;
   CREATE TRIGGER count_write AFTER UPDATE ON "Secret" FOR EACH ROW EXECUTE FUNCTION count_write()`,
)

describe('on PostgreSQL', () => {
  beforeEach(() => run(`TRUNCATE "Secret", "Writes"; ${INSERT}`))

  const run = (sql: string) => runSql(postgresql.url('promises'), sql)
  const counted = async () => (await query(postgresql.url('promises'), 'SELECT FROM "Writes"')).length

  const open = (patience?: number) =>
    openClient(network.url('promises').replace('postgres@', 'changing:secret@'), patience)

  test.each<Moment>(['before', 'during', 'after'])(
    'what was lost %s a statement runs again, and a commit does not',
    async (moment) => {
      const { prisma } = await open()
      for (const [text, operation] of [
        ['UPDATE', () => writes.model(prisma)],
        ['UPDATE', () => writes.raw(prisma)],
        ['BEGIN', () => writes.model(prisma)],
        ['FROM "public"."Secret"', () => reads.model(prisma)],
        ['FROM "Secret"', () => reads.raw(prisma)],
      ] as const) {
        const cut = network.cutOnce(moment, text)
        expect(await failure(operation()), text).toBe(undefined)
        await cut
      }
      expect(await counted()).toBe(3)
      for (const [index, write] of Object.values(writes).entries()) {
        const cut = network.cutOnce(moment, '; COMMIT')
        expect(await failure(write(prisma))).toEqual({ fault: 'unavailable' })
        await cut
        await expect.poll(counted).toBe(3 + (moment === 'before' ? 0 : index + 1))
      }
    },
  )

  test.each(uses)('what breaks the promise of %s rejects it, and nothing is stored', async (...row) => {
    const [, kind, rejectsStandby, use] = row
    const client = await open(0)
    for (const [setting, rejects] of [
      ['synchronous_commit = off', kind === 'write' ? /has synchronous_commit = off/ : /^done$/],
      ['search_path = shadow, pg_catalog, public', rejectsStandby ? /is read-only/ : /^done$/],
      // What says that it reads must not write.
      ['default_transaction_read_only = on', kind === 'write' ? /is read-only/ : /^done$/],
    ] as const) {
      await run(`ALTER ROLE changing SET ${setting}`)
      network.cutAll()
      await expect.poll(() => outcomeOf(use(client))).toMatch(rejects)
      await run('ALTER ROLE changing RESET ALL')
    }
    expect(await counted()).toBe(0)
  })

  test('a statement of requests is prepared once, under its name, and no other is', async () => {
    const { prisma, read } = await open()
    for (let round = 0; round < 3; round++) await read(statements.selectStates, ['[]'])
    await reads.model(prisma)
    const prepared = await prisma.$queryRawUnsafe('SELECT "name" FROM pg_prepared_statements')
    expect(prepared).toEqual([{ name: 'selectStates' }])
  })

  test('of Prisma Client, what begins with SELECT cannot write; of other statements, what they declare decides', async () => {
    const { prisma, read, write } = await open()
    const next = `SELECT setval('"Plant_seq_seq"', 1000)`
    for (const operation of [prisma.$queryRawUnsafe(next), prisma.$executeRawUnsafe(next)]) {
      expect(await failure(operation)).toContain('cannot execute setval() in a read-only transaction')
    }
    const changing = 'WITH changed AS (UPDATE "Secret" SET "value" = $1 RETURNING "value") SELECT * FROM changed'
    expect(await prisma.$queryRawUnsafe(changing, 'changed')).toEqual([{ value: 'changed' }])
    expect(await failure(read({ kind: 'read', sql: changing }, ['read']))).toContain('in a read-only transaction')
    expect(await write({ kind: 'write', sql: next, mayRunTwice: false }, [])).toBe(1)
  })
})

describe('on SQLite', () => {
  test('a write waits for a lock, and what waits longer than the patience is not stored', async () => {
    const { prisma, url } = await openNewClient()
    const impatient = (await openClient(url, 0)).prisma
    await runSql(url, INSERT)
    for (const write of Object.values(writes)) {
      const other = await openConnection(url)
      await other.run('BEGIN IMMEDIATE')
      const waiting = failure(write(prisma))
      const late = impatient.$executeRaw`UPDATE "Secret" SET "value" = 'late'`
      expect(await failure(late)).toEqual({ fault: 'locked' })
      setTimeout(() => void other.run('COMMIT'), 100)
      expect(await waiting).toBe(undefined)
      await other.close()
    }
    expect(await reads.model(prisma)).toEqual({ name: 'test', value: 'raw' })
    expect(await reads.raw(prisma)).toEqual([{ value: 'raw' }])
  })

  test('the order of creation is exact beyond int32, and a mistake in SQL is no StorageError and shows no source code', async () => {
    const { prisma } = await openNewClient()
    const data = { seq: 2 ** 52, account: 'alice', id: '1', name: 'Monstera' }
    expect(await prisma.plant.create({ data, select: { seq: true } })).toEqual({ seq: 2 ** 52 })
    for (const run of [
      () => prisma.$queryRawUnsafe('SELEKT 1'),
      () => prisma.$executeRawUnsafe(`DELETE FROM "Plant" WHERE "id" = 'x`),
      () => prisma.plant.create({ data: { ...data, unknown: 1 } as never }),
    ]) {
      expect(await failure(run())).toMatch(/^PrismaClient\w+Error: (?!.*promises\.test)/s)
    }
  })

  test('a time that is given as text with an offset is stored in UTC, as any other', async () => {
    const { prisma } = await openNewClient()
    const createdAt = '2026-01-01T00:00:00+02:00'
    await prisma.plant.create({ data: { account: 'alice', id: '1', name: 'Monstera', createdAt } })
    const rows = await prisma.$queryRawUnsafe('SELECT "createdAt" || \'\' AS time FROM "Plant"')
    expect(rows).toEqual([{ time: '2025-12-31T22:00:00.000+00:00' }])
  })
})
