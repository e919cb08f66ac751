/** Clients that disconnect before their response is complete. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { requestEnded, subscribe } from '../../src/telemetry/events.ts'
import { openSocket } from '../helpers/wire/connection.ts'
import { get, post, withToken } from '../helpers/wire/requests.ts'

test('a client that disconnects in the middle stores nothing, affects no other and is no warning', async () => {
  let log = ''
  const write = (line: string) => {
    log += line
  }
  await using server = await startTestServer({}, { logger: pino({ level: 'debug' }, { write }) })
  const ended = new Map<string, number>()
  onTestFinished(subscribe(requestEnded, ({ request, status }) => void ended.set(request.requestId, status)))
  const expectEnded = (id: string) => expect.poll(() => ended.get(id), { timeout: 10_000 }).toBe(499)

  const body = `{"id":1,"name":"${'a'.repeat(1_000_000)}"}`
  const upload = await openSocket(server.url)
  upload.write(withToken(post(body, { 'X-Request-Id': 'upload' }), server.token).slice(0, 500_000))
  // The server must have begun to read the body.
  await sleep(100)
  upload.destroy()
  await expectEnded('upload')
  expect(await (await server.call('/plants')).text()).toBe('[]')

  for (let id = 1; id <= 8; id++) await server.post(body.replace('1', `${id}`))
  const download = await openSocket(server.url)
  download.write(withToken(get('/plants', { 'X-Request-Id': 'download' }), server.token))
  await once(download, 'data')
  download.destroy()
  await expectEnded('download')
  expect(await (await server.call(`/plants?access_token=${server.token}`)).json()).toHaveLength(8)
  expect(log).not.toMatch(/"level":(?:[456]0|"(?:warn|error|fatal)")/)
  expect(log, 'a token is not logged').not.toContain(server.token)
})
