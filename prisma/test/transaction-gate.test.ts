import { expect, onTestFinished, test } from 'vitest'
import { connect, query } from '../../test/helpers/database/sqlite.ts'
import { temporaryDatabase } from '../../test/helpers/temporary-folder.ts'
import { migrateDatabase, openDatabase, type PrismaClient } from '../src/index.ts'

async function openNewDatabase(): Promise<{ prisma: PrismaClient; file: string }> {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const { prisma } = await openDatabase(url)
  onTestFinished(() => prisma.$disconnect())
  return { prisma, file }
}

const plant = (id: string) => ({ data: { account: 'alice', id, name: `plant ${id}` } })

/** The ids as another process sees them: what is committed, and nothing else. */
const committed = (file: string) =>
  query(file, 'SELECT id FROM Plant ORDER BY seq').map((row) => (row as { id: string }).id)

/** Long enough for a statement that waits for nothing to have run. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 100, 'waiting'))

test('a plant created while somebody else’s transaction is open survives its rollback', async () => {
  const { prisma, file } = await openNewDatabase()
  let created: Promise<unknown> | undefined

  const transaction = prisma.$transaction(async (tx) => {
    await tx.plant.create(plant('1'))
    created = prisma.plant.create(plant('2')).then(() => 'created')
    expect(await Promise.race([created, aWhile()])).toBe('waiting')
    throw new Error('undo')
  })

  await expect(transaction).rejects.toThrow('undo')
  expect(await created).toBe('created')
  expect(committed(file)).toEqual(['2'])
})

test('nobody sees what a transaction has not committed', async () => {
  const { prisma } = await openNewDatabase()
  let counted: Promise<number> | undefined

  await prisma.$transaction(async (tx) => {
    await tx.plant.create(plant('1'))
    counted = prisma.plant.count().then((count) => count)
    await Promise.race([counted, aWhile()])
    await tx.plant.create(plant('2'))
  })

  expect(await counted).toBe(2)
})

test('transactions take turns with each other and with single statements', async () => {
  const { prisma, file } = await openNewDatabase()
  const ids = Array.from({ length: 20 }, (_, index) => String(index))

  const outcomes = await Promise.allSettled(
    ids.map((id, index) => {
      if (index % 4 === 0) return prisma.plant.create(plant(id))
      if (index % 4 === 1)
        return prisma.$transaction([prisma.plant.create(plant(id)), prisma.plant.create(plant(`${id}b`))])
      if (index % 4 === 2) return prisma.plant.createMany({ data: [plant(id).data, plant(`${id}b`).data] })
      return prisma.$transaction(async (tx) => {
        await tx.plant.create(plant(id))
        throw new Error('undo')
      })
    }),
  )

  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(5)
  const kept = ids
    .filter((_, index) => index % 4 !== 3)
    .flatMap((id, index) => (index % 3 === 0 ? [id] : [id, `${id}b`]))
  expect(committed(file).sort()).toEqual(kept.sort())
})

test('a transaction that cannot begin does not keep the next one from beginning', async () => {
  const { prisma, file } = await openNewDatabase()
  const other = connect(file)
  other.exec('BEGIN IMMEDIATE')
  await expect(prisma.$transaction([prisma.plant.create(plant('1'))])).rejects.toMatchObject({ code: 'P1008' })
  other.exec('COMMIT')

  await prisma.$transaction([prisma.plant.create(plant('2'))])
  expect(committed(file)).toEqual(['2'])
})

test('a transaction that cannot commit is undone, and what follows is not part of it', async () => {
  const { prisma, file } = await openNewDatabase()
  // A foreign key that is checked only at COMMIT is what makes COMMIT fail.
  await prisma.$executeRaw`CREATE TABLE Leaf (plant INTEGER REFERENCES Plant (seq) DEFERRABLE INITIALLY DEFERRED)`
  const leafOfNothing = prisma.$transaction(async (tx) => {
    await tx.plant.create(plant('1'))
    await tx.$executeRaw`INSERT INTO Leaf VALUES (7)`
  })
  await expect(leafOfNothing).rejects.toThrow('ForeignKeyConstraintViolation')

  await prisma.plant.create(plant('2'))
  await prisma.$transaction([prisma.plant.create(plant('3'))])
  expect(committed(file)).toEqual(['2', '3'])
})

test('a transaction that gave up waiting for its turn does not take it later', async () => {
  const { prisma, file } = await openNewDatabase()
  await prisma.$transaction(async (tx) => {
    await tx.plant.create(plant('1'))
    const impatient = prisma.$transaction((inner) => inner.plant.create(plant('2')), { maxWait: 50 })
    await expect(impatient).rejects.toMatchObject({ code: 'P2028' })
  })

  await prisma.$transaction([prisma.plant.create(plant('3'))])
  expect(committed(file)).toEqual(['1', '3'])
})

test('using the outer client inside a transaction fails that transaction and nothing else', async () => {
  const { prisma, file } = await openNewDatabase()
  const mistaken = prisma.$transaction(
    async (tx) => {
      await tx.plant.create(plant('1'))
      await prisma.plant.create(plant('2'))
      await tx.plant.create(plant('3'))
    },
    { timeout: 200 },
  )
  await expect(mistaken).rejects.toMatchObject({ code: 'P2028' })
  expect(committed(file)).toEqual(['2'])
})

test('another process cannot write between a transaction’s reading and writing', async () => {
  const { prisma, file } = await openNewDatabase()
  const other = connect(file)
  await prisma.$transaction(async (tx) => {
    expect(await tx.plant.count()).toBe(0)
    expect(() => other.exec(`INSERT INTO Plant (account, id, name) VALUES ('alice', '1', 'Ficus')`)).toThrow('locked')
    await tx.plant.create(plant('2'))
  })
  expect(committed(file)).toEqual(['2'])
})

test('only the isolation that SQLite has can be asked for', async () => {
  const { prisma } = await openNewDatabase()
  const count = [prisma.plant.count()]
  await prisma.$transaction(count, { isolationLevel: 'Serializable' })
  expect(await prisma.plant.count()).toBe(0)
})
