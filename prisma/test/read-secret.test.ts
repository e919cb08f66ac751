import { expect, onTestFinished, test } from 'vitest'
import { query, runSql } from '../../test/helpers/database/sqlite.ts'
import { temporaryDatabase } from '../../test/helpers/temporary-folder.ts'
import { type Database, migrateDatabase, openDatabase, readSecret, type Sql } from '../src/index.ts'

async function open(url: string): Promise<Database> {
  const database = await openDatabase(url)
  onTestFinished(() => database.prisma.$disconnect())
  return database
}

test('a secret is 32 bytes, made at its first use, and the same for every connection from then on', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const [one, other] = [await open(url), await open(url)]
  expect(query(file, 'SELECT * FROM Secret')).toEqual([])

  const secrets = await Promise.all([one, other, one].map(({ sql }) => readSecret(sql, 'cursor')))
  const [secret] = secrets
  expect(secret).toHaveLength(32)
  expect(secrets).toEqual([secret, secret, secret])
  expect(await readSecret((await open(url)).sql, 'cursor')).toEqual(secret)
  expect(query(file, 'SELECT * FROM Secret')).toEqual([{ name: 'cursor', value: secret?.toString('hex') }])
})

test('a secret that another server stores first is the one that is used', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const { sql } = await open(url)
  const first = 'ab'.repeat(32)
  const late: Sql = {
    query: sql.query,
    execute: (...statement) => {
      runSql(file, `INSERT INTO Secret VALUES ('cursor', '${first}')`)
      return sql.execute(...statement)
    },
  }
  expect((await readSecret(late, 'cursor')).toString('hex')).toBe(first)
  expect((await readSecret(sql, 'cursor')).toString('hex')).toBe(first)
})

test('secrets of other names and of other databases differ', async () => {
  const databases = [temporaryDatabase(), temporaryDatabase()]
  const secrets = new Set<string>()
  for (const { url } of databases) {
    await migrateDatabase(url)
    const { sql } = await open(url)
    for (const name of ['cursor', 'other']) secrets.add((await readSecret(sql, name)).toString('hex'))
  }
  expect(secrets.size).toBe(4)
})
