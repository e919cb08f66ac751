/** Clients that end their side of a connection after what they send, as `nc -N` and some proxies do. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { LOCK_WRITES, openConnection } from '../../../test/helpers/database/databases.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { addLongList } from '../helpers/storage/long-list.ts'
import { exchange, readResponses, type WireResponse } from '../helpers/wire/connection.ts'
import { createPlant, get, KEEP_ALIVE, NO_TOKEN, post, postHead, request, withToken } from '../helpers/wire/requests.ts'

const server = await startTestServer({ adminPort: 0 })
const { token } = server

/** Sends a request or several, ends this side of the connection, and reads until the server ends its own. */
async function send(wire: string, url = server.url): Promise<WireResponse[]> {
  return readResponses(await exchange(url, withToken(wire, token), 0))
}

async function statusesOf(wire: string): Promise<number[]> {
  return (await send(wire)).map(({ status }) => status)
}

const CHUNKED = postHead({ 'Transfer-Encoding': 'chunked' })
const CHUNK = '16\r\n{"id":4,"name":"four"}\r\n'

test.each([
  ['a POST that closes the connection', post('{"id":2,"name":"two"}'), [200]],
  ['a POST of HTTP/1.0', request({ version: 'HTTP/1.0', body: '{"id":3,"name":"three"}' }), [200]],
  ['a POST in chunks', `${CHUNKED}${CHUNK}0\r\n\r\n`, [200]],
  ['a POST that expects 100', post('{"id":5,"name":"five"}', { ...KEEP_ALIVE, Expect: '100-continue' }), [100, 200]],
  ['a rejected POST', request({ headers: { ...NO_TOKEN, ...KEEP_ALIVE }, body: '{}' }), [401]],
  ['two requests', get('/plants', KEEP_ALIVE) + createPlant(token, 6), [200, 200]],
  ['nothing', '', []],
  ['half a head', postHead().slice(0, -2), [400]],
  ['half a body', createPlant(token, 200).slice(0, -3), [400]],
  ['no body after 100', postHead({ 'Content-Length': '30', Expect: '100-continue' }), [100, 400]],
  ['chunks without their end', CHUNKED + CHUNK, [400]],
  ['a request and half of another', createPlant(token, 201) + createPlant(token, 200).slice(0, -3), [200, 400]],
])(
  'whole requests get their responses, the rest a 400, and then the connection ends: %s',
  async (_what, wire, expected) => {
    expect(await statusesOf(wire)).toEqual(expected)
    expect(await (await server.call('/plants')).text()).not.toMatch(/plant 200/)
  },
)

test('a POST that waits for the database gets its response', async () => {
  const lock = await openConnection(server.databaseUrl)
  await lock.run(LOCK_WRITES)
  const sent = statusesOf(createPlant(token, 300))
  // The end of the client's side arrives while the request waits.
  await sleep(200)
  await lock.run('ROLLBACK')
  await lock.close()
  expect(await sent).toEqual([200])
})

test('a list that is sent in pieces is whole, and has no body for HEAD', async () => {
  await addLongList(server.databaseUrl, 'alice', 4)
  const [response] = await send(get('/plants', KEEP_ALIVE))
  expect(JSON.parse(response?.body ?? '').length).toBeGreaterThan(4)
  expect(await (await server.call('/plants', { method: 'HEAD' })).text()).toBe('')
})

test('the private port responds', async () => {
  const [response] = await send(get('/readyz', { ...KEEP_ALIVE, Host: 'localhost' }), server.adminUrl)
  expect(response?.status).toBe(200)
})
