import { expect, test } from 'vitest'
import { query, runSql } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { migrateDatabase } from '../../src/index.ts'
import { readSecret } from '../../src/shared/secret.ts'
import type { Sql } from '../../src/shared/sql.ts'
import { openClient, openNewClient } from '../helpers/open-client.ts'

test('a secret is 32 bytes, created at its first use, and the same for every connection from then on', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const [one, other] = [await openClient(url), await openClient(url)]
  expect(query(file, 'SELECT * FROM Secret')).toEqual([])

  const secrets = await Promise.all([one, other, one].map(({ sql }) => readSecret(sql, 'cursor')))
  const [secret] = secrets
  expect(secret).toHaveLength(32)
  expect(secrets).toEqual([secret, secret, secret])
  expect(await readSecret((await openClient(url)).sql, 'cursor')).toEqual(secret)
  expect(query(file, 'SELECT * FROM Secret')).toEqual([{ name: 'cursor', value: secret?.toString('hex') }])
  expect(await readSecret(one.sql, 'other')).not.toEqual(secret)
  expect(await readSecret((await openNewClient()).sql, 'cursor')).not.toEqual(secret)
})

test('a secret that another server stores first is used', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const { sql } = await openClient(url)
  const first = 'ab'.repeat(32)
  const late: Sql = {
    ...sql,
    execute: (...statement) => {
      runSql(file, `INSERT INTO Secret VALUES ('cursor', '${first}')`)
      return sql.execute(...statement)
    },
  }
  expect((await readSecret(late, 'cursor')).toString('hex')).toBe(first)
  expect((await readSecret(sql, 'cursor')).toString('hex')).toBe(first)
})
