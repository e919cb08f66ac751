/** What lists see of concurrent writes, in one process and in two on one database. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LOCK_WRITES, openConnection, rejectName, runSql } from '../../../test/helpers/database/databases.ts'
import { type ServerProcess, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'

let server: TestServer
let other: ServerProcess
beforeAll(async () => {
  server = await startTestServer()
  // Another process, so that the two share only the database.
  other = await startServerProcess({ DATABASE_URL: server.databaseUrl })
})
afterAll(async () => {
  expect(await other.end()).toBe(0)
  await server.close()
})

async function namesAt(url: string, token: string): Promise<string[]> {
  const response = await fetch(`${url}/plants`, { headers: { authorization: `Bearer ${token}` } })
  return ((await response.json()) as { name: string }[]).map(({ name }) => name)
}

async function createAt(url: string, token: string, id: number, name = `plant ${id}`): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return (await fetch(`${url}/plants`, { method: 'POST', headers, body: JSON.stringify({ id, name }) })).status
}

test('a plant that one process stored is in the next list of both', async () => {
  const { token } = await server.createToken({ account: 'two processes' })
  const urls = [server.url, other.url]
  const names: string[] = []
  for (let id = 0; id < 60; id++) {
    // In no regular order, so that each process finds its cached list current, extended and stale.
    const writer = urls[(id * 7 + (id >> 2)) % 2] ?? ''
    expect(await createAt(writer, token, id)).toBe(200)
    names.push(`plant ${id}`)
    for (const url of urls) expect(await namesAt(url, token)).toEqual(names)
  }
})

test('with many clients of both processes, a list has everything stored before its request, in one order', async () => {
  const { token } = await server.createToken({ account: 'many clients' })
  const stored = new Set<string>()
  const lists: string[][] = []
  const writer = async (url: string, first: number) => {
    for (let id = first; id < first + 40; id++) {
      expect(await createAt(url, token, id)).toBe(200)
      stored.add(`plant ${id}`)
    }
  }
  const reader = async (url: string) => {
    for (let round = 0; round < 40; round++) {
      const before = [...stored]
      const names = await namesAt(url, token)
      const listed = new Set(names)
      expect(listed.size).toBe(names.length)
      expect(before.filter((name) => !listed.has(name))).toEqual([])
      lists.push(names)
    }
  }
  await Promise.all([
    ...[0, 1000, 2000].flatMap((first) => [writer(server.url, first), writer(other.url, first + 500)]),
    ...[server.url, other.url, server.url, other.url].map(reader),
  ])
  const final = await namesAt(server.url, token)
  expect(final.length).toBe(240)
  expect(await namesAt(other.url, token)).toEqual(final)
  for (const names of lists) expect(names).toEqual(final.slice(0, names.length))
}, 60_000)

test('a change of the database by another program is in the next list', async () => {
  const { token } = await server.createToken({ account: 'another program' })
  await createAt(server.url, token, 1, 'before')
  expect(await namesAt(server.url, token)).toEqual(['before'])
  await runSql(server.databaseUrl, `UPDATE "Plant" SET "name" = 'after' WHERE "account" = 'another program'`)
  expect(await namesAt(server.url, token)).toEqual(['after'])
})

test('a write that waits for the lock of another process does not delay reads', async () => {
  const { token } = await server.createToken({ account: 'locked out' })
  const locker = await openConnection(server.databaseUrl)
  await locker.run(LOCK_WRITES)
  const written = createAt(server.url, token, 1, 'waited')
  expect(await namesAt(server.url, token)).toEqual([])
  await locker.run('COMMIT')
  await locker.close()
  expect(await written).toBe(200)
  expect(await namesAt(server.url, token)).toEqual(['waited'])
})

test('a failed commit fails the writes in it, and stored plants stay', async () => {
  await using failing = await startTestServer()
  expect((await failing.post('{"id":1,"name":"kept"}')).status).toBe(200)
  const accept = await rejectName(failing.databaseUrl, 'poison', 'rejected')
  const burst = ['a', 'poison', 'b'].map((name, index) => failing.post(JSON.stringify({ id: 10 + index, name })))
  const statuses = (await Promise.all(burst)).map(({ status }) => status)
  const listed = (await (await failing.call('/plants')).json()) as { name: string }[]
  // Timing decides whether they share a commit; but responses and the list agree.
  const accepted = ['a', 'poison', 'b'].filter((_, index) => statuses[index] === 200)
  expect(statuses[1]).toBe(500)
  expect(listed.map(({ name }) => name)).toEqual(['kept', ...accepted])
  await accept()
  expect((await failing.post('{"id":20,"name":"after"}')).status).toBe(200)
})
