/**
 * What POST /plants stores and GET /plants lists while others write, in one process and in two on one database. The
 * conformance suite of the client has single requests, the fuzzer every spelling, id and text.
 */
import { type Contract, contract } from '@plant-store/contract'
import type { AppRoute } from '@ts-rest/core'
import { afterAll, describe, expect, test } from 'vitest'
import { rejectName, runSql } from '../../../test/helpers/database/databases.ts'
import { exchanges, FICUS } from '../../../test/helpers/server/exchanges.ts'
import { startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { type RequestParts, request } from '../helpers/wire/requests.ts'
import { type Expected, responds } from '../helpers/wire/wire.ts'

const server = await startTestServer()
// Another process, so that the two share only the database.
const other = await startServerProcess({ DATABASE_URL: server.databaseUrl })
afterAll(async () => expect(await other.end()).toBe(0))

describe.each(Object.entries(contract))('%s', (name, operation: AppRoute) => {
  /** Sends the request of the operation, changed, for an account of its own: another one has the same id, and keeps its plant. */
  async function exchange(change: RequestParts, expected: Partial<Expected>): Promise<void> {
    const [other, { token, post }] = [await newAccount(), await newAccount()]
    await other.post('{"id":1,"name":"Other"}')
    await post(FICUS)
    expect(exchanges, `add a request of ${name} to test/helpers/server/exchanges.ts`).toHaveProperty(name)
    const [parts, response] = exchanges[name as keyof Contract]
    await responds({ url: server.url, token }, request({ ...parts, ...change }), { ...response, ...expected })
    expect(await other.list()).toEqual([{ name: 'Other' }])
  }

  test('responds, without a token with 401 before anything else is read', async () => {
    await exchange({}, {})
    const headers = { Authorization: null, 'Content-Type': 'text/plain' }
    await exchange({ headers }, { status: 401, error: 40101, body: /^/ })
  })

  test.runIf(operation.method === 'GET')('has the same status and no body for HEAD', () =>
    exchange({ method: 'HEAD' }, { body: '' }),
  )
})

let accounts = 0
/** Creates a token of an account that has no plants, and what creates and lists its plants at either server. */
async function newAccount() {
  const account = `account ${++accounts}`
  const { token } = await server.createToken({ account })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const list = async ({ url }: { url: string } = server): Promise<{ name: string; tag?: string }[]> =>
    (await fetch(`${url}/plants`, { headers })).json() as Promise<{ name: string }[]>
  const post = (body: string, { url }: { url: string } = server) =>
    fetch(`${url}/plants`, { method: 'POST', headers, body })
  return { account, token, list, post, names: async (at?: { url: string }) => (await list(at)).map(({ name }) => name) }
}

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

// Others would write 500 as the number of the error. Here every number is of one catalogue: 50000.
test('a failed commit fails the writes in it with a 500 that says no more than its number, and stored plants stay', async () => {
  const { post, list } = await newAccount()
  expect((await post('{"id":1,"name":"kept"}')).status).toBe(200)
  const accept = await rejectName(server.databaseUrl, 'poison', 'secret')
  const burst = ['a', 'poison', 'b'].map((name, index) => post(JSON.stringify({ id: 10 + index, name })))
  const responses = await Promise.all(burst)
  // Timing decides whether they share a commit; but responses and the list agree.
  const accepted = ['a', 'b'].filter((_, index) => responses[2 * index]?.status === 200)
  expect(await list()).toEqual(['kept', ...accepted].map((name) => ({ name })))
  expect(responses[1]?.status).toBe(500)
  expect(responses[1]?.headers.get('x-request-id')).toMatch(/./)
  const body = (await responses[1]?.text()) ?? ''
  expect(JSON.parse(body)).toEqual({ error: 50000, message: expect.any(String) })
  expect(body).not.toMatch(/secret|sql|trigger|insert|prisma|\/|\.ts/i)
  await accept()
  expect((await post('{"id":11,"name":"poison"}')).status).toBe(200)
})

test('with many clients of both processes, a list has everything stored before its request, in one order', async () => {
  const { post, names } = await newAccount()
  const stored = new Set<string>()
  const lists: string[][] = []
  const writer = async (at: { url: string }, first: number) => {
    for (let id = first; id < first + 40; id++) {
      expect((await post(JSON.stringify({ id, name: `plant ${id}` }), at)).status).toBe(200)
      stored.add(`plant ${id}`)
    }
  }
  const reader = async (at: { url: string }) => {
    for (let round = 0; round < 40; round++) {
      const before = [...stored]
      const list = await names(at)
      const listed = new Set(list)
      expect(listed.size).toBe(list.length)
      expect(before.filter((name) => !listed.has(name))).toEqual([])
      lists.push(list)
    }
  }
  await Promise.all([
    ...[0, 1000, 2000].flatMap((first) => [writer(server, first), writer(other, first + 500)]),
    ...[server, other, server, other].map(reader),
  ])
  const final = await names()
  expect(final.length).toBe(240)
  expect(await names(other)).toEqual(final)
  for (const list of lists) expect(list).toEqual(final.slice(0, list.length))
})

test('a change of the database by another program is in the next list', async () => {
  const { account, post, list } = await newAccount()
  await post('{"id":1,"name":"before"}')
  expect(await list()).toEqual([{ name: 'before' }])
  await runSql(server.databaseUrl, `UPDATE "Plant" SET "name" = 'after' WHERE "account" = '${account}'`)
  expect(await list()).toEqual([{ name: 'after' }])
})
