/** The example app against the real service. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { query } from '../../../test/helpers/database/sqlite.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'

const MAIN = fileURLToPath(new URL('../../example/src/main.ts', import.meta.url))

test('adding 302 plants twice lists them unchanged, with every id exact in the database', {
  timeout: 120_000,
}, async () => {
  await using server = await startTestServer()
  const { token } = await server.createToken({ account: 'example' })
  for (let round = 0; round < 2; round++) {
    const args = ['--conditions=@plant-store/source', MAIN]
    const env = { PATH: process.env['PATH'], PLANT_STORE_URL: server.url, PLANT_STORE_TOKEN: token }
    const { stdout } = await promisify(execFile)(process.execPath, args, { env })
    expect(stdout).toBe('302 plants added, 302 listed, identical\n')
  }
  const rows = query(fileURLToPath(server.databaseUrl), 'SELECT "id" FROM "Plant"') as { id: string }[]
  const ids = rows.map(({ id }) => id)
  expect(ids).toHaveLength(302)
  for (const id of ['9007199254740992', '9007199254740993', '9223372036854775807']) expect(ids).toContain(id)
})
