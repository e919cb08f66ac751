import { expect, test } from 'vitest'
import { connect, runSql } from '../../../test/helpers/database/sqlite.ts'
import { DatabaseError, explainDatabaseError } from '../../src/index.ts'
import { openNewClient } from '../helpers/open-client.ts'

const token = { id: 'a', hash: 'b', account: 'alice', scopes: 'read' }

test('an error of Prisma on a locked database is one sentence that names the file', async () => {
  const { file, url, prisma } = await openNewClient()
  connect(file).exec('BEGIN IMMEDIATE')
  const sentence = `${file} is locked by another process: stop that one, or wait for it, and retry`
  for (const failing of [prisma.token.create({ data: token }), prisma.$executeRaw`DELETE FROM "Token"`]) {
    const error = await failing.catch((thrown: unknown) => thrown)
    expect(await explainDatabaseError(error, url)).toEqual(new DatabaseError(sentence))
  }
})

test('any other error of Prisma is one line, without the call', async () => {
  const { file, url, prisma } = await openNewClient()
  runSql(file, 'DROP TABLE "Token"')
  const error = await prisma.token.findMany().catch((thrown: unknown) => thrown)
  const explained = await explainDatabaseError(error, url)
  expect(explained).toBeInstanceOf(DatabaseError)
  expect((explained as Error).message).toMatch(new RegExp(`^${file} cannot be used: .*Token.*$`))
  expect((explained as Error).message).not.toContain('invocation')
})

test('an error that is not from the database stays unchanged', async () => {
  const error = new TypeError('x is not a function')
  for (const url of ['file:/plants.db', 'postgresql://db/plants']) {
    expect(await explainDatabaseError(error, url)).toBe(error)
  }
})
