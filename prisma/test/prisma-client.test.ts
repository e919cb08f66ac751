/** What Prisma Client promises by itself on both engines, shown with operations that only this test has. */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openConnection, query, runSql } from '../../test/helpers/database/databases.ts'
import { type PostgresqlServer, startPostgresql } from '../../test/helpers/database/postgresql.ts'
import { type FaultyNetwork, type Moment, startFaultyNetwork } from '../../test/helpers/network/faulty-network.ts'
import type { PrismaClient } from '../src/generated/postgresql/client.ts'
import { openConnections } from '../src/postgresql/connection/connections.ts'
import { toTemporaryFailure } from '../src/postgresql/connection/errors.ts'
import { readServerAddress } from '../src/postgresql/connection/server-address.ts'
import { connectPrisma } from '../src/postgresql/open-database.ts'
import { createReadiness } from '../src/postgresql/readiness.ts'
import type { Prisma } from '../src/shared/prisma-client.ts'
import { toTemporaryFailure as toSqliteFailure } from '../src/sqlite/connection/errors.ts'
import { openNewClient } from './helpers/open-client.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

/** An operation that must not run twice. */
const count = (prisma: Prisma) =>
  prisma.edits.update({ where: { account: 'alice' }, data: { count: { increment: 1 } }, select: { account: true } })
const read = (prisma: Prisma) => prisma.edits.findUnique({ where: { account: 'alice' } })
const INSERT = `INSERT INTO "Edits" VALUES ('alice', 0)`

/** More of one turn than a statement of SQLite may have parameters. */
const READS = 600

/** Runs what an operation by account and id needs, and many of them in one turn, which must not be joined to one statement. */
async function editByAccountAndId({ plant }: Prisma): Promise<void> {
  const where = (id: unknown) => ({ account_id: { account: 'bob', id: String(id) } })
  await plant.createMany({ data: [1, 2].map((id) => ({ account: 'bob', id: String(id), name: `plant ${id}` })) })
  const found = await Promise.all(Array.from({ length: READS }, (_, id) => plant.findUnique({ where: where(id) })))
  expect(found.map((row) => row?.name)).toEqual([undefined, 'plant 1', 'plant 2', ...Array(READS - 3)])
  await expect(plant.findUniqueOrThrow({ where: where(3), select: { tag: true } })).rejects.toThrow('not found')
  expect(await plant.update({ where: where(1), data: { tag: 'fern' } })).toMatchObject({ id: '1', tag: 'fern' })
  expect(await plant.deleteMany({ where: { account: 'bob', id: '2' } })).toEqual({ count: 1 })
  expect(await plant.findUnique({ where: where(2) })).toBe(null)
}

describe('on PostgreSQL', () => {
  let postgresql: PostgresqlServer
  let network: FaultyNetwork
  beforeAll(async () => {
    postgresql = await startPostgresql()
    network = await startFaultyNetwork(postgresql.port)
    await postgresql.create('plants')
    await run('CREATE ROLE changing LOGIN SUPERUSER')
    await run('CREATE SCHEMA shadow; CREATE FUNCTION shadow.pg_is_in_recovery() RETURNS boolean RETURN true')
  })
  afterAll(async () => {
    await network?.[Symbol.asyncDispose]()
    await postgresql?.remove()
  })
  beforeEach(() => run(`TRUNCATE "Edits"; ${INSERT}`))

  const run = (sql: string) => runSql(postgresql.url('plants'), sql)
  const counted = async () => Number((await query<{ count: string }>(postgresql.url('plants'), SELECT_COUNT))[0]?.count)
  const SELECT_COUNT = 'SELECT "count" FROM "Edits"'

  async function open(
    patience = 10_000,
  ): Promise<Prisma & Pick<PrismaClient, '$executeRaw' | '$queryRaw' | '$transaction'>> {
    const address = readServerAddress(network.url('plants').replace('postgres@', 'changing@'))
    const connections = await openConnections(address, 20_000)
    onTestFinished(connections.close)
    const { retry } = createReadiness(connections.pool, 'the database', 20_000, { patience })
    const prisma = await connectPrisma(connections, retry)
    return prisma as Awaited<ReturnType<typeof open>>
  }

  test.each<Moment>(['before', 'during', 'after'])(
    'what was lost %s a statement runs again, and a commit does not',
    async (moment) => {
      const prisma = await open()
      for (const [text, operation] of [
        ['UPDATE', () => count(prisma)],
        ['BEGIN', () => count(prisma)],
        ['FROM "public"."Edits"', () => read(prisma)],
      ] as const) {
        const cut = network.cutOnce(moment, text)
        expect(await operation(), text).toMatchObject({ account: 'alice' })
        await cut
      }
      expect(await counted()).toBe(2)
      const cut = network.cutOnce(moment, '; COMMIT')
      const error = await count(prisma).catch((reason: unknown) => reason)
      await cut
      expect(toTemporaryFailure(error)).toMatchObject({ fault: 'unavailable', retryAfter: 5 })
      await expect.poll(counted).toBe(moment === 'before' ? 2 : 3)
    },
  )

  test.each([
    ['its commits are lost', 'synchronous_commit = off', 'unavailable', true],
    ['the server is a standby', 'search_path = shadow, pg_catalog, public', 'read-only', false],
  ] as const)('nothing is stored where %s', async (_reason, setting, fault, canRead) => {
    const prisma = await open(0)
    await run(`ALTER ROLE changing SET ${setting}`)
    network.cutAll()
    const failure = (operation: PromiseLike<unknown>) =>
      Promise.resolve(operation).then(() => undefined, toTemporaryFailure)
    await expect.poll(() => failure(count(prisma))).toMatchObject({ fault })
    expect(await failure(prisma.$executeRaw`UPDATE public."Edits" SET "count" = 7`)).toMatchObject({ fault })
    expect(await failure(prisma.edits.deleteMany())).toMatchObject({ fault })
    expect(await failure(read(prisma))).toEqual(canRead ? undefined : expect.objectContaining({ fault }))
    await run('ALTER ROLE changing RESET ALL')
    network.cutAll()
    expect(await counted()).toBe(0)
    await expect.poll(() => failure(count(prisma))).toBe(undefined)
  })

  test('each of many reads by account and id is a statement of its own', async () => {
    await editByAccountAndId(await open())
  })

  test('a transaction of several statements is rejected, as on SQLite', async () => {
    const prisma = await open()
    const both = prisma.$transaction([prisma.edits.deleteMany(), prisma.secret.deleteMany()])
    await expect(both).rejects.toThrow('Transactions are not supported')
    expect(await counted()).toBe(0)
  })

  test('an SQL mistake is not called unavailable, and a table that was taken away is', async () => {
    const prisma = await open(0)
    const failure = () => prisma.$queryRaw`SELECT "nmae" FROM "Plant"`.catch(toTemporaryFailure)
    expect(await failure()).toBe(undefined)
    await run('ALTER TABLE "Secret" RENAME TO "Other"')
    expect(await failure()).toMatchObject({ fault: 'unavailable' })
    await run('ALTER TABLE "Other" RENAME TO "Secret"')
  })
})

describe('on SQLite', () => {
  test('each of many reads by account and id is a statement of its own', async () => {
    await editByAccountAndId(await (await openNewClient()).loadPrisma())
  })

  test('a write waits for a lock, and is not repeated if the process that writes has ended', async () => {
    const { loadPrisma, url } = await openNewClient()
    const prisma = await loadPrisma()
    await runSql(url, INSERT)
    const other = await openConnection(url)
    await other.run('BEGIN IMMEDIATE')
    const waiting = count(prisma)
    setTimeout(() => void other.run('COMMIT'), 500)
    expect(await waiting).toEqual({ account: 'alice' })
    await other.close()

    const writers = execFileSync('pgrep', ['-P', String(process.pid), '-f', 'database-process'], { encoding: 'utf8' })
    const signal = (name: NodeJS.Signals) => {
      for (const writer of writers.trim().split('\n')) process.kill(Number(writer), name)
    }
    signal('SIGSTOP')
    const lost = Promise.resolve(count(prisma)).catch(toSqliteFailure)
    signal('SIGKILL')
    expect(await lost).toMatchObject({ fault: 'unavailable' })
    expect(await read(prisma)).toEqual({ account: 'alice', count: 1 })
    // The process is started again.
    await expect.poll(() => prisma.edits.deleteMany({ where: { account: 'none' } })).toEqual({ count: 0 })
    await count(prisma)
    expect(await read(prisma)).toEqual({ account: 'alice', count: 2 })
  })
})
