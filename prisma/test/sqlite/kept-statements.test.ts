import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { migrateDatabase } from '../../src/index.ts'
import { databaseFile } from '../../src/sqlite/connection/database-file.ts'
import { connectClient } from '../../src/sqlite/open-database.ts'

test('a statement is prepared once, however often it runs', async () => {
  const { url } = temporaryDatabase()
  await migrateDatabase(url)
  const { prepare } = Database.prototype
  const prepared: string[] = []
  Database.prototype.prepare = function (this: Database.Database, sql: string) {
    prepared.push(sql)
    return prepare.call(this, sql)
  } as typeof prepare
  try {
    const { loadPrisma, sql, close } = await connectClient(databaseFile(url))
    const prisma = await loadPrisma()
    for (let id = 0; id < 50; id++) {
      await sql.execute(
        'INSERT INTO "Plant" ("account", "id", "name") VALUES (?, ?, ?)',
        'a',
        String(id),
        `plant ${id}`,
      )
      await prisma.plant.findMany({ where: { account: 'a', id: String(id) } })
      await prisma.$queryRaw`SELECT ${id}`
    }
    expect(await sql.query('SELECT "id", "name" FROM "Plant" WHERE "seq" = ?', 7)).toEqual([['6', 'plant 6']])
    await close()
  } finally {
    Database.prototype.prepare = prepare
  }
  expect(prepared.length).toBeGreaterThan(3)
  expect(prepared).toEqual([...new Set(prepared)])
})
