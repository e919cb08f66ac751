import { expect, test } from 'vitest'
import { rejectName } from '../../../test/helpers/database/databases.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { post } from '../helpers/wire/requests.ts'
import { accepts, rejects, send } from '../helpers/wire/wire.ts'

// Others would write 500 as the number of the error. Here every number is of one catalogue: 50000.
test('a request that fails internally gets a 500 with nothing but its number and the request id', async () => {
  await using server = await startTestServer()
  const wire = post('{"id":62001,"name":"poison"}', { 'X-Request-Id': 'poisoned' })
  const accept = await rejectName(server.databaseUrl, 'poison', 'secret')
  await rejects(server, wire, 50000, { headers: { 'X-Request-Id': 'poisoned' } })
  const [response] = await send(server, wire)
  expect(response?.body).not.toMatch(/secret|sql|trigger|insert|prisma|\/|\.ts/i)

  await accept()
  await accepts(server, wire)
})
