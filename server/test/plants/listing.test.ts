/** What GET /plants without a limit lists. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { listOf, newAccount } from '../helpers/plants/accounts.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

test('an account without plants has an empty list', async () => {
  expect(await listOf(server, await newAccount(server))).toEqual([])
})

test('the list is in order of creation', async () => {
  const token = await newAccount(server)
  for (const id of [5, -1, 9, 0, 3]) await server.post(`{"id":${id},"name":"${id}"}`, { token })
  expect(await listOf(server, token)).toEqual(['5', '-1', '9', '0', '3'].map((name) => ({ name })))
})

test('an account sees its own plants and no others, with each of its tokens', async () => {
  const tokens = await Promise.all(['one', 'other', 'other'].map((account) => server.createToken({ account })))
  const [one = '', other = '', second = ''] = tokens.map(({ token }) => token)
  expect((await server.post('{"id":1,"name":"of one"}', { token: one })).status).toBe(200)
  expect((await server.post('{"id":1,"name":"of the other"}', { token: other })).status).toBe(200)
  expect(await listOf(server, one)).toEqual([{ name: 'of one' }])
  expect(await listOf(server, other)).toEqual([{ name: 'of the other' }])
  expect(await listOf(server, second)).toEqual([{ name: 'of the other' }])
})

test('a long list is chunked, complete and in order', async () => {
  const token = await newAccount(server)
  const plants = Array.from({ length: 80 }, (_, id) => ({ name: `${id} ${'🌿'.repeat(10_000)}`, tag: String(id) }))
  for (const [id, plant] of plants.entries()) await server.post(JSON.stringify({ id, ...plant }), { token })
  const response = await server.call('/plants', { token })
  expect(response.headers.get('transfer-encoding')).toBe('chunked')
  expect(await response.json()).toEqual(plants)
  expect(await (await server.call('/plants?limit=79', { token })).json()).toEqual(plants.slice(0, 79))
})

test('a failure in the middle of a list breaks the connection', async () => {
  await using breaking = await startTestServer()
  for (let id = 0; id < 40; id++) await breaking.post(JSON.stringify({ id, name: 'x'.repeat(900_000) }))
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${breaking.token}` }
    request(`${breaking.url}/plants`, { headers }, resolve).on('error', reject).end()
  })
  expect(response.statusCode).toBe(200)
  await once(response, 'readable')
  // The server reads only as much as the client does: most of the list is still in the table.
  await runSql(breaking.databaseUrl, 'ALTER TABLE "Plant" RENAME TO "Gone"')
  const received: Buffer[] = []
  await expect(async () => {
    for await (const chunk of response) received.push(chunk)
  }).rejects.toThrow('aborted')
  expect(Buffer.concat(received).at(-1)).not.toBe(']'.charCodeAt(0))
})
