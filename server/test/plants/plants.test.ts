/** What POST /plants stores and GET /plants lists. The fuzzer in server/test/fuzz has every spelling, id and text. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

let accounts = 0
/** Creates a token of an account that has no plants, and what lists its plants and creates one from the text of a body. */
async function newAccount() {
  const { token } = await server.createToken({ account: `account ${++accounts}` })
  const list = async () => (await server.call('/plants', { token })).json() as Promise<{ name: string; tag?: string }[]>
  return { token, list, post: (body: string) => server.post(body, { token }) }
}

test('a NewPlant gets a 200 with the Plant, without its id, and without a tag if it has none', async () => {
  const { token, post } = await newAccount()
  const response = await post('{"id":1,"name":"Monstera","tag":""}')
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
  expect(await response.text()).toBe('{"name":"Monstera","tag":""}')
  expect(await (await post('{"id":2,"name":"Ficus","seq":9,"account":"x"}')).text()).toBe('{"name":"Ficus"}')
  const list = await server.call('/plants', { token })
  expect(await list.text()).toBe('[{"name":"Monstera","tag":""},{"name":"Ficus"}]')
})

// Others respond 409. The contract says 400.
test.each(['{"id":1,"name":"Other","tag":"t"}', '{"id":1,"name":"Ficus"}', '{"id":1,"name":"Ficus","tag":""}'])(
  'the same id with other content (%s) gets a 400 (40003) and changes nothing',
  async (other) => {
    const { post, list } = await newAccount()
    await post('{"id":1,"name":"Ficus","tag":"t"}')
    const response = await post(other)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 40003, message: expect.stringContaining('id:') })
    expect((await post('{"height":1,"tag":"t","name":"\\u0046icus","id":10e-1}')).status).toBe(200)
    expect(await list()).toEqual([{ name: 'Ficus', tag: 't' }])
  },
)

test('of fifty concurrent plants with one id, all get a 200 if they are the same, else one', async () => {
  const { post, list } = await newAccount()
  const same = await Promise.all(Array.from({ length: 50 }, () => post('{"id":1,"name":"same"}')))
  expect(new Set(same.map(({ status }) => status))).toEqual(new Set([200]))
  const names = Array.from({ length: 50 }, (_, index) => `name ${index}`)
  const different = await Promise.all(names.map((name) => post(JSON.stringify({ id: 2, name }))))
  const stored = names.filter((_, index) => different[index]?.status === 200)
  expect(stored).toHaveLength(1)
  expect(await list()).toEqual([{ name: 'same' }, { name: stored[0] }])
})

test('new, duplicate, conflicting and invalid plants in one burst each get their own response', async () => {
  const { post, list } = await newAccount()
  await post('{"id":1,"name":"stored"}')
  const burst: [body: string, status: number][] = Array.from({ length: 20 }, (_, round): [string, number][] => [
    [`{"id":${100 + round},"name":"new ${round}"}`, 200],
    ['{"id":1,"name":"stored"}', 200],
    ['{"id":1,"name":"conflicting"}', 400],
    ['{"id":1,"name":"stored","tag":"other"}', 400],
    ['{"id":"1","name":"invalid"}', 400],
  ]).flat()
  const statuses = await Promise.all(burst.map(async ([body]) => (await post(body)).status))
  expect(statuses).toEqual(burst.map(([, status]) => status))
  const names = (await list()).map(({ name }) => name)
  expect(names.sort()).toEqual(['stored', ...Array.from({ length: 20 }, (_, round) => `new ${round}`)].sort())
})

test('an account sees its own plants and no others, in order of creation, with each of its tokens', async () => {
  const [one, other] = [await newAccount(), await newAccount()]
  expect(await one.list()).toEqual([])
  for (const id of [5, -1, 9]) expect((await one.post(`{"id":${id},"name":"${id}"}`)).status).toBe(200)
  expect((await other.post('{"id":5,"name":"of the other"}')).status).toBe(200)
  expect(await one.list()).toEqual(['5', '-1', '9'].map((name) => ({ name })))
  const { token } = await server.createToken({ account: `account ${accounts}` })
  expect(await (await server.call('/plants', { token })).json()).toEqual([{ name: 'of the other' }])
})

test('a long list is chunked, complete and in order', async () => {
  const { token, post } = await newAccount()
  const plants = Array.from({ length: 30 }, (_, id) => ({ name: `${id} ${'🌿'.repeat(30_000)}`, tag: String(id) }))
  for (const [id, plant] of plants.entries()) await post(JSON.stringify({ id, ...plant }))
  const response = await server.call('/plants', { token })
  expect(response.headers.get('transfer-encoding')).toBe('chunked')
  expect(await response.json()).toEqual(plants)
  expect(await (await server.call('/plants?limit=29', { token })).json()).toEqual(plants.slice(0, 29))
})

test('a failure in the middle of a list breaks the connection', async () => {
  await using breaking = await startTestServer()
  for (let id = 0; id < 24; id++) await breaking.post(JSON.stringify({ id, name: 'x'.repeat(900_000) }))
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
