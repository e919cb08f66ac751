/** Prisma Client on our driver adapter of SQLite. */
import BetterSqlite3 from 'better-sqlite3'
import { expect, test, vi } from 'vitest'
import { query, runSql } from '../../../test/helpers/database/sqlite.ts'
import { DatabaseError, explainDatabaseError } from '../../src/index.ts'
import { createDriverAdapter } from '../../src/sqlite/connection/driver-adapter.ts'
import { openNewClient } from '../helpers/open-client.ts'

const plant = (id: string) => ({ account: 'alice', id, name: `plant ${id}`, tag: null })

test('a transaction of Prisma Client is rejected and writes nothing', async () => {
  const { prisma, file } = await openNewClient()
  const creates = [prisma.plant.create({ data: plant('1') }), prisma.plant.create({ data: plant('2') })]
  await expect(prisma.$transaction(creates)).rejects.toThrow('Transactions are not supported')
  await expect(prisma.$transaction(async () => {})).rejects.toThrow('Transactions are not supported')

  await prisma.plant.create({ data: plant('3') })
  expect(query(file, 'SELECT id FROM Plant')).toEqual([{ id: '3' }])
})

test('the order of creation is exact beyond int32, and an error is one line, without source code or the call', async () => {
  const { file, url, prisma } = await openNewClient()
  const seq = 2 ** 52
  await prisma.plant.create({ data: { seq, account: 'alice', id: '1', name: 'Monstera' } })
  await prisma.plant.create({ data: { account: 'alice', id: '2', name: 'Ficus' } })
  expect(await prisma.plant.findMany({ where: { seq: { gt: seq } }, select: { seq: true } })).toEqual([
    { seq: seq + 1 },
  ])

  const failed = await prisma.$queryRawUnsafe('SELEKT 1').catch((error: Error) => error)
  expect(failed).toBeInstanceOf(Error)
  expect((failed as Error).message).not.toContain('driver-adapter.test')
  runSql(file, 'DROP TABLE "Token"')
  const error = await prisma.token.findMany().catch((thrown: unknown) => thrown)
  const explained = await explainDatabaseError(error, url)
  expect(explained).toBeInstanceOf(DatabaseError)
  expect((explained as Error).message).toMatch(new RegExp(`^${file} cannot be used: .*Token.*$`))
  expect((explained as Error).message).not.toContain('invocation')
})

test('a statement is prepared once, however often it runs', async () => {
  const database = new BetterSqlite3(':memory:')
  const prepare = vi.spyOn(database, 'prepare')
  const { query } = createDriverAdapter(database).sql
  for (const value of ['a', 1, null]) expect(await query('SELECT $1', value)).toEqual([[value]])
  expect(prepare).toHaveBeenCalledTimes(1)
})

test('an error that is not from the database stays unchanged', async () => {
  const error = new TypeError('x is not a function')
  for (const url of ['file:/plants.db', 'postgresql://db/plants']) {
    expect(await explainDatabaseError(error, url)).toBe(error)
  }
})
