import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/sqlite.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { post } from '../helpers/wire/requests.ts'
import { accepts, rejects, send } from '../helpers/wire/wire.ts'

// Others would write 500 as the number of the error. Here every number is of one catalogue: 50000.
test('a request that fails internally gets a 500 with nothing but its number and the request id', async () => {
  await using server = await startTestServer()
  const wire = post('{"id":62001,"name":"poison"}', { 'X-Request-Id': 'poisoned' })
  const file = fileURLToPath(server.databaseUrl)
  runSql(
    file,
    `CREATE TRIGGER "poison" BEFORE INSERT ON "Plant" WHEN NEW."name" = 'poison' BEGIN SELECT RAISE(FAIL, 'secret'); END`,
  )
  await rejects(server, wire, 50000, { headers: { 'X-Request-Id': 'poisoned' } })
  const [response] = await send(server, wire)
  expect(response?.body).not.toMatch(/secret|sql|trigger|insert|prisma|\/|\.ts/i)

  runSql(file, 'DROP TRIGGER "poison"')
  await accepts(server, wire)
})
