/** What every engine stores and finds of a token, past the server. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { engine, newDatabase, query, runSql } from '../../../test/helpers/database/databases.ts'
import { openDatabase } from '../../src/database.ts'
import type { Database } from '../../src/index.ts'

let url: string
let database: Database
beforeAll(async () => {
  url = await newDatabase()
  // Loading Prisma Client takes longer on a busy machine than a request may.
  database = await openDatabase(url, { patience: 20_000 })
})
afterAll(() => database.close())

const newToken = (id: string, expiresAt: Date | null = null) => ({
  id,
  hash: `hash of ${id}`,
  account: 'älice',
  scopes: ['read', 'write'],
  label: null,
  expiresAt,
})

test('a token is found by its hash, with all that Prisma Client has stored', async () => {
  const { tokens } = database
  const stored = [
    await tokens.create(newToken('plain')),
    await tokens.create({ ...newToken('labelled', new Date('2031-02-03T04:05:06.789Z')), label: 'a "label"' }),
    await tokens.create(newToken('revoked', new Date('2001-01-01T00:00:00.001Z'))),
  ]
  stored[2] = (await tokens.revoke('revoked')) ?? expect.unreachable()
  expect(await Promise.all(stored.map(({ id }) => tokens.find(`hash of ${id}`)))).toEqual(stored)
  expect(await tokens.list()).toEqual(stored)
  expect([await tokens.list('älice'), await tokens.list('alice')]).toEqual([stored, []])
  expect(await tokens.find("' OR true --")).toBeUndefined()
})

test.runIf(engine === 'sqlite').each([
  [`'2031-02-03 04:05:06'`, '2031-02-03T04:05:06.000Z'],
  [`'2031-02-03T04:05:06.007+00:00'`, '2031-02-03T04:05:06.007Z'],
  [Date.UTC(2031, 1, 3), '2031-02-03T00:00:00.000Z'],
  [`'tomorrow'`, '1970-01-01T00:00:00.000Z'],
  ['NULL', undefined],
])('a time that was written by hand is UTC, and other text ends a token: %s', async (value, time) => {
  const id = `until ${time}`
  await database.tokens.create({ ...newToken(id), account: id })
  await runSql(url, `UPDATE "Token" SET "expiresAt" = ${value} WHERE "id" = '${id}'`)
  expect((await database.tokens.find(`hash of ${id}`))?.expiresAt?.toISOString()).toBe(time)
  // Prisma Client reads the list.
  const [listed] = await database.tokens.list(id)
  if (value !== `'tomorrow'`) expect(listed?.expiresAt?.toISOString()).toBe(time)
})

test('a secret is 32 bytes, created at its first use, and the same for all servers of a database', async () => {
  expect(await query(url, 'SELECT * FROM "Secret"')).toEqual([])
  const other = await openDatabase(url)
  // Neither finds one, so one of them has to use what the other has stored.
  const [secret, ...secrets] = await Promise.all([database, other, database].map((each) => each.secret('cursor')))
  expect(secret).toHaveLength(32)
  expect(secrets).toEqual([secret, secret])
  expect(await other.secret('other')).not.toEqual(secret)
  await other.close()
  const [row] = await query(url, `SELECT * FROM "Secret" WHERE "name" = 'cursor'`)
  expect(row).toEqual({ name: 'cursor', value: secret?.toString('hex') })
})
