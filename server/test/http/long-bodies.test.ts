/** Bodies that take long to parse, and many that arrive together. */
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import { expect, test } from 'vitest'
import { memoryInUse } from '../../../test/helpers/memory-in-use.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { until } from '../../../test/helpers/until.ts'
import { createBodyParser, parseBody } from '../../src/http/request/parse-body.ts'
import { readMetric } from '../helpers/telemetry/read-metric.ts'
import { openConnection } from '../helpers/wire/connection.ts'
import { KEEP_ALIVE, post, withToken } from '../helpers/wire/requests.ts'

const MEBIBYTE = 2 ** 20
const BODY_MEMORY = 'plant_store_request_body_memory_bytes'

/** A body of a plant with so many empty arrays in an unknown field. */
const withArrays = (id: number, count: number) => `{"id":${id},"name":"","other":[${'[],'.repeat(count)}0]}`

test('long bodies are parsed in parts, a turn of the event loop each, in turn by account', async () => {
  const parse = createBodyParser()
  const long = Buffer.from(withArrays(1, 300_000))
  const short = Buffer.from(withArrays(1, 10_000))
  const order: string[] = []
  const begin = (account: string, body = long, isConnected = true) =>
    parse(account, body, () => isConnected).finally(() => order.push(account))
  const gone = expect(begin('gone', long, false)).rejects.toThrow('closed')
  const parsed = ['alice', 'alice', 'alice', 'bob'].map((account) => begin(account))
  const bodies = Promise.all([...parsed, begin('carol', short), begin('dave', short)])
  let turns = 0
  const count = () => {
    if (turns++ >= 0) timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  expect((await bodies).map((body) => (body as { id: number }).id)).toEqual([1, 1, 1, 1, 1, 1])
  clearImmediate(timer)
  await gone
  expect(order).toEqual(['gone', 'carol', 'dave', 'alice', 'bob', 'alice', 'alice'])
  expect(turns).toBeGreaterThanOrEqual((4 * long.length) / (32 * 1024))
})

test('bodies that wait to be parsed count as memory of bodies', async () => {
  await using server = await startTestServer({ adminPort: 0, maxBodyMemory: MEBIBYTE })
  const connections = await Promise.all(Array.from({ length: 50 }, () => openConnection(server.url)))
  // Each arrives at one time.
  const wire = withToken(post(withArrays(1, 20_000), KEEP_ALIVE), server.token)
  const responses = await Promise.all(connections.map((connection) => connection.send(wire)))
  const statuses = responses.map(({ status }) => status)
  expect([...new Set(statuses)].sort()).toEqual([200, 503])
  expect(await readMetric(server, BODY_MEMORY)).toBe(0)
})

test('a text of a body does not keep the rest of the body in memory', () => {
  const body = Buffer.from(`{"id":1,"name":"Monstera deliciosa","other":"${'x'.repeat(900_000)}"}`)
  const before = memoryInUse()
  const names = Array.from({ length: 20 }, () => (parseBody(body) as { name: string }).name)
  expect(memoryInUse() - before).toBeLessThan(MEBIBYTE)
  expect(names).toHaveLength(20)
})

test('what the schema ignores is not kept in memory until the response', async () => {
  await using server = await startTestServer({ adminPort: 0 })
  const other = new Sqlite(fileURLToPath(server.databaseUrl))
  other.exec('BEGIN IMMEDIATE')
  const bodies = Array.from({ length: 6 }, (_, id) => withArrays(id, 300_000))
  const before = memoryInUse()
  const responses = bodies.map((body) => server.post(body))
  const areInFlight = async () => (await readMetric(server, 'plant_store_requests_in_flight')) === bodies.length
  // A busy machine may take longer than the server waits for the database.
  await Promise.race([until(areInFlight), ...responses])
  await until(async () => (await readMetric(server, BODY_MEMORY)) === 0)
  expect(memoryInUse() - before).toBeLessThan(30 * MEBIBYTE)
  other.close()
  await Promise.all(responses)
})
