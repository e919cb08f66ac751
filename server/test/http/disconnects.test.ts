/** Clients that disconnect before their response is complete. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { openSocket } from '../helpers/wire/connection.ts'
import { get, listPlants, post, withToken } from '../helpers/wire/requests.ts'
import { send } from '../helpers/wire/wire.ts'

test('a client that disconnects in the middle of a request or response stores nothing and logs no warning', async () => {
  await using storage = await startTestServer()
  const { token } = storage
  // A process, so that its log is what an operator reads.
  const server = await startServerProcess({ DATABASE_URL: storage.databaseUrl, LOG_LEVEL: 'debug', ACCESS_LOG: 'on' })
  const target = { url: server.url, token }
  const expectLogged = (requestId: string) =>
    expect.poll(server.output, { timeout: 10_000 }).toContain(`"${requestId}"`)
  try {
    const body = `{"id":1,"name":"${'a'.repeat(1_000_000)}"}`
    const upload = await openSocket(server.url)
    upload.write(withToken(post(body, { 'X-Request-Id': 'upload' }), token).slice(0, 500_000))
    // The server must have begun to read the body.
    await sleep(100)
    upload.destroy()
    await expectLogged('upload')
    expect((await send(target, get()))[0]?.body).toBe('[]')

    for (const id of [1, 2, 3, 4, 5]) await send(target, post(body.replace('1', `${id}`)))
    const download = await openSocket(server.url)
    download.write(withToken(get('/plants', { 'X-Request-Id': 'download' }), token))
    await once(download, 'data')
    download.destroy()
    await expectLogged('download')

    await send(target, get('/plants?limit=1&access_token=<token>', { 'X-Request-Id': 'after' }))
    // What follows it in the log happened after it.
    await expectLogged('after')
    expect(server.output()).not.toMatch(/"level":"(?:warn|error|fatal)"/)
    expect(server.output(), 'a token is not logged').not.toContain(token)
  } finally {
    await server.end()
  }
})

test('a client that disconnects in the middle of a list does not affect other clients', async () => {
  await using server = await startTestServer()
  const other = await openSocket(server.url)
  for (let id = 0; id < 8; id++) await server.post(JSON.stringify({ id, name: 'x'.repeat(900_000) }))
  other.write(listPlants(server.token))
  await once(other, 'data')
  other.destroy()
  expect(await (await server.call('/plants')).json()).toHaveLength(8)
})
