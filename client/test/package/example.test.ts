/** The example app against the real service. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { query } from '../../../test/helpers/database/sqlite.ts'
import { run } from '../../../test/helpers/packed-package.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'

const example = fileURLToPath(new URL('../../example', import.meta.url))

test('adding 302 plants twice lists them unchanged, with every id exact', { timeout: 120_000 }, async () => {
  await using server = await startTestServer()
  const settings = { PLANT_STORE_URL: server.url, PLANT_STORE_TOKEN: server.token }
  for (let round = 0; round < 2; round++) {
    const output = await run(process.execPath, ['--conditions=@plant-store/source', 'src/main.ts'], example, settings)
    expect(output).toBe('302 plants added, 302 listed, identical\n')
  }
  const rows = query(fileURLToPath(server.databaseUrl), 'SELECT "id" FROM "Plant"') as { id: string }[]
  const ids = rows.map(({ id }) => id)
  expect(ids).toHaveLength(302)
  for (const id of ['9007199254740992', '9007199254740993', '9223372036854775807']) expect(ids).toContain(id)
})
