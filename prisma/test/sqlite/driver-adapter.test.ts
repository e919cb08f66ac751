/** Prisma Client on our driver adapter of SQLite. */
import { expect, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { StorageError } from '../../src/index.ts'
import { openNewClient } from '../helpers/open-client.ts'

test('the order of creation is exact beyond int32, and a mistake in SQL is no StorageError and shows no source code', async () => {
  const { prisma } = await openNewClient()
  const seq = 2 ** 52
  const plant = (id: string) => ({ account: 'alice', id, name: 'Monstera' })
  await prisma.plant.create({ data: { seq, ...plant('1') } })
  await prisma.plant.create({ data: plant('2') })
  const select = { seq: true }
  expect(await prisma.plant.findMany({ where: { seq: { gt: seq } }, select })).toEqual([{ seq: seq + 1 }])

  for (const run of [
    () => prisma.$queryRawUnsafe('SELEKT 1'),
    () => prisma.$executeRawUnsafe('DELETE FROM "Plants"'),
  ]) {
    const failed = await run().catch((error: Error) => error)
    expect(failed).toBeInstanceOf(Error)
    expect(failed).not.toBeInstanceOf(StorageError)
    expect((failed as Error).message).not.toContain('driver-adapter.test')
  }
  await expect(prisma.plant.create({ data: { seq, ...plant('3') } })).rejects.toMatchObject({ code: 'P2002' })
})

test('times that other programs wrote are read as what they are', async () => {
  const { prisma, url } = await openNewClient()
  const times = [`'2026-11-21 01:02:03'`, 1700000000123, `'2026-11-21T01:02:03.004+00:00'`]
  const rows = times.map((time, id) => `('a', '${id}', 'x', ${time})`)
  await runSql(url, `INSERT INTO "Plant" ("account", "id", "name", "createdAt") VALUES ${rows}`)
  const read = await prisma.plant.findMany({ orderBy: { seq: 'asc' }, select: { createdAt: true } })
  const second = Date.UTC(2026, 10, 21, 1, 2, 3)
  expect(read.map(({ createdAt }) => createdAt.getTime())).toEqual([second, 1700000000123, second + 4])
})
