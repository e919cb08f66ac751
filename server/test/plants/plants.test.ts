/**
 * What POST /plants stores and GET /plants lists while others write, in one process and in two on one database. The
 * conformance suite of the client has single requests, the fuzzer every spelling, id and text.
 */
import { afterAll, expect, test } from 'vitest'
import { rejectName } from '../../../test/helpers/database/databases.ts'
import { FICUS, operations, parse, stringify } from '../../../test/helpers/operations.ts'
import { startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { startLoad } from '../helpers/storage/load.ts'
import { type RequestParts, request } from '../helpers/wire/requests.ts'
import { send as sendRequests } from '../helpers/wire/wire.ts'

const server = await startTestServer()
// Another process, so that the two share only the database.
const other = await startServerProcess({ DATABASE_URL: server.databaseUrl })
afterAll(async () => expect(await other.end()).toBe(0))

test.each(operations)(
  '$name responds, to HEAD without a body, and without a token with 401 before anything else is read',
  async ({ request: { method, target, body }, response }) => {
    const { token, post } = await newAccount()
    await post(String(stringify(FICUS)))
    const parts: RequestParts = { method, target, ...(body !== undefined && { body }) }
    const send = (change: RequestParts) => sendRequests({ url: server.url, token }, request({ ...parts, ...change }))
    const [received] = await send({})
    expect([received?.status, parse(received?.body)]).toEqual([
      expect.toSatisfy((status) => status < 300),
      parse(stringify(response)),
    ])
    if (method === 'GET') expect(await send({ method: 'HEAD' })).toMatchObject([{ status: 200, body: '' }])
    const [rejected] = await send({ headers: { Authorization: null, 'Content-Type': 'text/plain' } })
    expect([rejected?.status, JSON.parse(rejected?.body ?? '').error]).toEqual([401, 40101])
  },
)

let accounts = 0
/** Creates a token of an account that has no plants, and what creates its plants and lists their names. */
async function newAccount() {
  const { token } = await server.createToken({ account: `account ${++accounts}` })
  const post = (body: string) => server.post(body, { token })
  const list = async () => {
    const plants = (await (await server.call('/plants', { token })).json()) as { name: string }[]
    return plants.map(({ name }) => name)
  }
  return { token, list, post }
}

test('of fifty concurrent plants with one id, all get a 200 if they are the same, else one', async () => {
  const { post, list } = await newAccount()
  const same = await Promise.all(Array.from({ length: 50 }, () => post('{"id":1,"name":"same"}')))
  expect(new Set(same.map(({ status }) => status))).toEqual(new Set([200]))
  const names = Array.from({ length: 50 }, (_, index) => `name ${index}`)
  const different = await Promise.all(names.map((name) => post(JSON.stringify({ id: 2, name }))))
  const stored = names.filter((_, index) => different[index]?.status === 200)
  expect(stored).toHaveLength(1)
  expect(await list()).toEqual(['same', stored[0]])
})

// Others would write 500 as the number of the error. Here every number is of one catalogue: 50000.
test('a failed commit fails the writes in it with a 500 that says no more than its number, and stored plants stay', async () => {
  const { post, list } = await newAccount()
  expect((await post('{"id":1,"name":"kept"}')).status).toBe(200)
  const accept = await rejectName(server.databaseUrl, 'poison', 'secret')
  const burst = ['a', 'poison', 'b'].map((name, index) => post(JSON.stringify({ id: 10 + index, name })))
  const responses = await Promise.all(burst)
  // Timing decides whether they share a commit; but responses and the list agree.
  const accepted = ['a', 'b'].filter((_, index) => responses[2 * index]?.status === 200)
  expect(await list()).toEqual(['kept', ...accepted])
  expect(responses[1]?.status).toBe(500)
  expect(responses[1]?.headers.get('x-request-id')).toMatch(/./)
  const body = (await responses[1]?.text()) ?? ''
  expect(JSON.parse(body)).toEqual({ error: 50000, message: expect.any(String) })
  expect(body).not.toMatch(/secret|sql|trigger|insert|prisma|\/|\.ts/i)
  await accept()
  expect((await post('{"id":11,"name":"poison"}')).status).toBe(200)
})

test('with many clients of both processes, a list has everything stored before its request, in one order', async () => {
  const { token } = await newAccount()
  const load = startLoad({ url: server.url, token }, { url: other.url, token })
  await load.during(load.progress)
  expect(load.rejected()).toEqual({ plants: 0, lists: 0 })
})
