/**
 * What each operation of Prisma Client promises by itself. That files are guarded is shown in
 * sqlite/file-guard.test.ts.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { openConnection, query, runSql, sharedPostgresql } from '../../test/helpers/database/databases.ts'
import { type Moment, startFaultyNetwork } from '../../test/helpers/network/faulty-network.ts'
import { afterFile } from '../../test/helpers/temporary.ts'
import { type Prisma, StorageError } from '../src/engine.ts'
import type { PrismaClient } from '../src/generated/sqlite/client.ts'
import { statements } from '../src/postgresql/statements.ts'
import { openClient, openNewClient } from './helpers/open-client.ts'

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
const write = writes.model
/** What would be joined with the requests of other accounts does not compile. */
export const joined = ({ plant }: Prisma) => [
  // @ts-expect-error: docs/decisions/013-prisma-client.md
  plant.findUnique,
  // @ts-expect-error: the same
  plant.findUniqueOrThrow,
]
const INSERT = `INSERT INTO "Secret" VALUES ('test', '')`
const SELECT_COUNT = 'SELECT count(*) AS "count" FROM "Writes"'

/** Returns the failure of an operation; undefined: it succeeded. */
const failure = (operation: PromiseLike<unknown>) =>
  Promise.resolve(operation).then(
    () => undefined,
    (error: unknown) => (error instanceof StorageError ? { fault: error.fault } : String(error)),
  )

/** More of one turn than a statement of SQLite may have parameters. */
const READS = 600

/**
 * Runs what an operation by account and id needs, and many of them in one turn, which must not be joined to one
 * statement. Several in one transaction are rejected.
 */
async function editByAccountAndId(prisma: PrismaClient): Promise<void> {
  const { plant } = prisma
  const where = (id: unknown) => ({ account: 'bob', id: String(id) })
  await plant.createMany({ data: [1, 2].map((id) => ({ account: 'bob', id: String(id), name: `plant ${id}` })) })
  const found = await Promise.all(Array.from({ length: READS }, (_, id) => plant.findFirst({ where: where(id) })))
  expect(found.map((row) => row?.name)).toEqual([undefined, 'plant 1', 'plant 2', ...Array(READS - 3)])
  const changed = await plant.updateManyAndReturn({ where: where(1), data: { tag: 'fern' } })
  expect(changed).toMatchObject([{ id: '1', tag: 'fern' }])
  expect(await plant.deleteMany({ where: { account: 'bob', id: '2' } })).toEqual({ count: 1 })
  const both = prisma.$transaction([plant.deleteMany(), plant.deleteMany()])
  await expect(both).rejects.toThrow('Transactions are not supported')
  expect(await plant.findMany({ select: { id: true } })).toEqual([{ id: '1' }])
}

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
  const counted = async () =>
    Number((await query<{ count: string }>(postgresql.url('promises'), SELECT_COUNT))[0]?.count)

  const openChanging = (patience: number) =>
    openClient(network.url('promises').replace('postgres@', 'changing:secret@'), patience)
  const open = async (patience = 60_000) => (await openChanging(patience)).prisma

  test.each<Moment>(['before', 'during', 'after'])(
    'what was lost %s a statement runs again, and a commit does not',
    async (moment) => {
      const prisma = await open()
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

  test.each([
    ['its commits are lost', 'synchronous_commit = off', 'unavailable', true],
    ['the server is a standby', 'search_path = shadow, pg_catalog, public', 'read-only', false],
  ] as const)('nothing is stored where %s', async (_reason, setting, fault, canRead) => {
    const prisma = await open(0)
    await run(`ALTER ROLE changing SET ${setting}`)
    network.cutAll()
    await expect.poll(() => failure(write(prisma))).toMatchObject({ fault })
    expect(await failure(prisma.$executeRaw`UPDATE public."Secret" SET "value" = 'x'`)).toMatchObject({ fault })
    expect(await failure(prisma.secret.deleteMany())).toMatchObject({ fault })
    for (const operation of Object.values(reads)) {
      expect(await failure(operation(prisma))).toEqual(canRead ? undefined : { fault })
    }
    await run('ALTER ROLE changing RESET ALL')
    network.cutAll()
    expect(await counted()).toBe(0)
    await expect.poll(() => failure(write(prisma))).toBe(undefined)
  })

  test.each(Object.entries(statements))('%s is rejected by what breaks its promise', async (_name, statement) => {
    const { read, write } = await openChanging(0)
    const last = Math.max(0, ...[...statement.sql.matchAll(/\$(\d)/g)].map(([, number]) => Number(number)))
    const values = last === 1 ? ['[]'] : ['alice', 0, 9, 1, 9, 'x', 'x'].slice(0, last)
    const use = () => (statement.kind === 'read' ? read(statement, values) : write(statement, values))
    for (const [setting, rejects] of [
      ['synchronous_commit = off', statement.kind === 'write' ? { fault: 'unavailable' } : undefined],
      ['search_path = shadow, pg_catalog, public', statement.kind === 'read' ? { fault: 'read-only' } : undefined],
      // What says that it reads must not write.
      ['default_transaction_read_only = on', statement.kind === 'write' ? { fault: 'read-only' } : undefined],
    ] as const) {
      await run(`ALTER ROLE changing SET ${setting}`)
      network.cutAll()
      await expect.poll(() => failure(use())).toEqual(rejects)
      await run('ALTER ROLE changing RESET ALL')
    }
  })

  test('a statement of requests is prepared once, under its name, and no other is', async () => {
    const { prisma, read } = await openChanging(60_000)
    for (let round = 0; round < 3; round++) await read(statements.selectStates, ['[]'])
    await reads.model(prisma)
    const prepared = await prisma.$queryRawUnsafe('SELECT "name" FROM pg_prepared_statements')
    expect(prepared).toEqual([{ name: 'selectStates' }])
  })

  test('what begins with SELECT cannot write: that is a mistake in the statement', async () => {
    const prisma = await open()
    const next = `SELECT setval('"Plant_seq_seq"', 1000)`
    for (const operation of [prisma.$queryRawUnsafe(next), prisma.$executeRawUnsafe(next)]) {
      expect(await failure(operation)).toContain('cannot execute setval() in a read-only transaction')
    }
    const changing = 'WITH changed AS (UPDATE "Secret" SET "value" = $1 RETURNING "value") SELECT * FROM changed'
    expect(await prisma.$queryRawUnsafe(changing, 'changed')).toEqual([{ value: 'changed' }])
    const data = { account: 'bob', id: '1', name: 'Ficus' }
    await prisma.plant.create({ data })
    await expect(prisma.plant.create({ data })).rejects.toMatchObject({ code: 'P2002' })
    await prisma.plant.deleteMany()
  })

  test('each of many reads by account and id is a statement of its own, and no transaction has several', async () => {
    await editByAccountAndId(await open())
  })
})

test('no source looks at the text of a statement but that of Prisma Client, and the driver at its parameters', () => {
  const folder = new URL('../src/', import.meta.url)
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const sources = names.filter((name) => name.endsWith('.ts') && !name.startsWith('generated'))
  const looks =
    /\b(sql|query\.text)\.(\w+With|at|char\w+|includes|indexOf|match\w*|replace\w*|s\w+|trim\w*)\(|\.(exec|test)\((\w+\.)?(sql|query\.text)\b/
  const looking = sources.filter((name) => looks.test(readFileSync(new URL(name, folder), 'utf8')))
  expect(looking.sort()).toEqual(['prisma-client.ts', 'sqlite/connection.ts'])
})

describe('on SQLite', () => {
  test('each of many reads by account and id is a statement of its own, and no transaction has several', async () => {
    await editByAccountAndId((await openNewClient()).prisma)
  })

  test('a write waits for a lock, and what waits longer than the patience is not stored', async () => {
    const { prisma, url } = await openNewClient()
    const impatient = (await openClient(url, 0)).prisma
    await runSql(
      url,
      `CREATE TABLE "Writes" ("id" INTEGER PRIMARY KEY);
       CREATE TRIGGER count_write AFTER UPDATE ON "Secret" BEGIN INSERT INTO "Writes" VALUES (NULL); END;
       ${INSERT}`,
    )
    for (const write of Object.values(writes)) {
      const other = await openConnection(url)
      await other.run('BEGIN IMMEDIATE')
      const waiting = write(prisma)
      expect(await failure(write(impatient))).toEqual({ fault: 'locked' })
      setTimeout(() => void other.run('COMMIT'), 100)
      await waiting
      await other.close()
    }
    for (const operation of Object.values(reads)) expect(await operation(prisma)).toBeTruthy()
    expect(await query(url, SELECT_COUNT)).toEqual([{ count: 2 }])
  })

  test('the order of creation is exact beyond int32, and a mistake in SQL is no StorageError and shows no source code', async () => {
    const { prisma } = await openNewClient()
    const data = { seq: 2 ** 52, account: 'alice', id: '1', name: 'Monstera' }
    expect(await prisma.plant.create({ data, select: { seq: true } })).toEqual({ seq: 2 ** 52 })
    for (const run of [
      () => prisma.$queryRawUnsafe('SELEKT 1'),
      () => prisma.$executeRawUnsafe(`DELETE FROM "Plant" WHERE "id" = 'x`),
    ]) {
      const failed = await run().catch((error: Error) => error)
      expect(failed).toBeInstanceOf(Error)
      expect(failed).not.toBeInstanceOf(StorageError)
      expect((failed as Error).message).not.toContain('promises.test')
    }
    await expect(prisma.plant.create({ data })).rejects.toMatchObject({ code: 'P2002' })
  })

  test('a time that is given as text with an offset is stored in UTC, as any other', async () => {
    const { prisma } = await openNewClient()
    const createdAt = '2026-01-01T00:00:00+02:00'
    await prisma.plant.create({ data: { account: 'alice', id: '1', name: 'Monstera', createdAt } })
    const rows = await prisma.$queryRawUnsafe('SELECT "createdAt" || \'\' AS time FROM "Plant"')
    expect(rows).toEqual([{ time: '2025-12-31T22:00:00.000+00:00' }])
  })
})
