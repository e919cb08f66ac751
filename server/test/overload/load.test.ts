/** A server under more load than it can handle, and under attack. */
import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { type ServerProcess, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { addLongList } from '../helpers/storage/long-list.ts'
import { readMetric, readMetrics } from '../helpers/telemetry/read-metric.ts'
import { openConnection } from '../helpers/wire/connection.ts'
import { createPlant, listPlants } from '../helpers/wire/requests.ts'

if (!isLong) console.log('server/test/overload/load.test.ts runs in part: PLANT_STORE_LONG_TESTS=1 runs all of it')

const MEBIBYTE = 2 ** 20
const folder = temporaryFolder()

test('at four times the load limit, accepted requests get a response within a second and are stored; others are shed immediately', async () => {
  const { server, token } = await startWithToken(folder, 'overload', { MAX_REQUESTS_IN_FLIGHT: '100' })
  const end = performance.now() + (isLong ? 5_000 : 1_000)
  const accepted: number[] = []
  const shed: number[] = []
  let id = 0
  // Their first requests arrive together.
  const clients = await Promise.all(Array.from({ length: 400 }, () => openConnection(server.url)))
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < end) {
        const { status, headers, milliseconds } = await client.send(createPlant(token, ++id))
        if (status === 200) accepted.push(milliseconds)
        else {
          expect(status).toBe(503)
          expect(headers.get('retry-after')).toMatch(/^\d+$/)
          shed.push(milliseconds)
        }
      }
      client.socket.destroy()
    }),
  )
  expect(shed.length).toBeGreaterThan(0)
  // Times mean something only if no other tests run at the same time. On a slow machine, those of the first turn take longer.
  if (isLong) expect(Math.max(percentile(accepted, 0.9), percentile(shed, 0.99))).toBeLessThan(1_000)
  await until(async () => (await namesOf(server, token)).length === accepted.length)
  expect(await server.end()).toBe(0)
  // What is shed is counted, not logged.
  expect(server.output()).not.toMatch(/"level":"(?:warn|error|fatal)"/)
})

test.runIf(isLong)('while 10,000 slow connections open, valid requests get a response within a second', async () => {
  const { server, token } = await startWithToken(folder, 'slow')
  const { hostname, port } = new URL(server.url)
  const client = await openConnection(server.url)
  const times: number[] = []
  for (let opened = 0; opened < 10_000; opened += 100) {
    for (let index = 0; index < 100; index++) {
      const socket = connect(Number(port), hostname).on('error', () => {})
      onTestFinished(() => void socket.destroy())
      // Half of them are silent, the others send headers that never end.
      if (index % 2 === 0) socket.write('GET /plants HTTP/1.1\r\nHost: ')
    }
    for (const wire of [createPlant(token, opened), listPlants(token, '?limit=1')]) {
      const { status, milliseconds } = await client.send(wire)
      expect(status).toBe(200)
      times.push(milliseconds)
    }
    await sleep(30)
  }
  expect(percentile(times, 0.99)).toBeLessThan(1_000)
  client.socket.destroy()
  expect(await server.end()).toBe(0)
})

test.runIf(isLong)(
  'comparing and listing what accounts store takes no more memory than there is room for',
  async () => {
    const readers = Array.from({ length: 100 }, (_, index) => `reader ${index}`)
    const environment = { ADMIN_PORT: '0', NODE_OPTIONS: '--max-old-space-size=80' }
    const { server, tokens } = await startWithToken(folder, 'stored', environment, ['writer', ...readers])
    const store = (account: string, count: number, name: string) => `
    INSERT INTO "Plant" ("account", "id", "name")
    WITH RECURSIVE plants(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM plants WHERE id < ${count})
    SELECT '${account}', id, ${name} FROM plants`
    // A plant of 500 control characters is 3 kB of JSON.
    const stored = [store('writer', 200, `printf('%.1000000c', 'x')`)]
    for (const account of readers) stored.push(store(account, 512, `replace(printf('%.500c', 'x'), 'x', char(1))`))
    await runSql(`file:${path.join(folder, 'stored.db')}`, stored.join(';'))

    const [writer = '', ...others] = tokens
    const clients = await Promise.all(Array.from({ length: 400 }, () => openConnection(server.url)))
    const conflicts = clients.map((client, index) => client.send(createPlant(writer, 1 + (index % 200), 'y')))
    expect((await Promise.all(conflicts)).filter(({ status }) => status !== 400)).toEqual([])
    for (const { socket } of clients) socket.destroy()

    const listed = await Promise.all(others.map((token) => namesOf(server, token)))
    expect(
      listed.filter((names) => names.length !== 512 || names.some((name) => name !== '\u0001'.repeat(500))),
    ).toEqual([])
    expect(await server.end()).toBe(0)
  },
)

const SOAK = isLong ? 90_000 : 2_000
const CLIENTS = 20
/** The time between two requests of a well-behaved client, in milliseconds. */
const PAUSE = 50
const HOSTILE_CONNECTIONS = isLong ? 140 : 40
/** The heap is limited to 256 MB; buffers, code and stacks need memory, too. */
const MAX_RESIDENT = 512 * MEBIBYTE
const hostileClients = fileURLToPath(new URL('../helpers/hostile-clients.ts', import.meta.url))

test('well-behaved clients are served in time and lose nothing while hostile ones of every kind attack', async () => {
  const accounts = ['mallory', ...Array.from({ length: CLIENTS }, (_, index) => `client ${index}`)]
  const environment = {
    ADMIN_PORT: '0',
    NODE_OPTIONS: '--max-old-space-size=256',
    // Nothing listens there: every JSON Web Token has an unknown key.
    JWT_ISSUER: 'https://login.example.com/',
    JWT_AUDIENCE: 'plants',
    JWT_JWKS_URL: 'http://127.0.0.1:9/jwks.json',
  }
  const { server, tokens } = await startWithToken(folder, 'soak', environment, accounts)
  const [hostileToken = '', ...clientTokens] = tokens
  // Longer than what the operating system buffers for a client that does not read.
  await addLongList(`file:${path.join(folder, 'soak.db')}`, 'mallory', isLong ? 31 : 10)

  const hostile = spawn(process.execPath, [hostileClients, server.url, hostileToken, String(HOSTILE_CONNECTIONS)])
  onTestFinished(() => void hostile.kill('SIGKILL'))
  const end = performance.now() + SOAK
  let resident = 0
  const watchMemory = async () => {
    for (; performance.now() < end; await sleep(1_000)) {
      resident = Math.max(resident, await readMetric(server, 'process_resident_memory_bytes'))
    }
  }
  const [behaved] = await Promise.all([
    Promise.all(clientTokens.map((token, index) => behave(server, token, index, end))),
    watchMemory(),
  ])
  hostile.kill('SIGKILL')

  const statuses = behaved.flatMap((client) => client.statuses)
  const times = behaved.flatMap((client) => client.times)
  const served = statuses.filter((status) => status === 200).length / statuses.length
  expect(served).toBeGreaterThanOrEqual(0.99)
  expect(resident).toBeLessThan(MAX_RESIDENT)
  if (isLong) expect(percentile(times, 0.99)).toBeLessThan(1_000)
  // The server still has to accept and reject what the operating system has queued. Then each request has ended once.
  const open = /^(?:http_server_active_requests\{|plant_store_(?:requests_in_flight|open_connections)$)/
  await until(
    async () => [...(await readMetrics(server))].every(([name, value]) => !open.test(name) || value === 0),
    60_000,
  )
  expect((await namesOf(server, hostileToken)).filter((name) => !/^(?:0+|plant 1000)$/.test(name))).toEqual([])
  for (const { token, created } of behaved) {
    const names = new Set(await namesOf(server, token))
    expect(created.filter((name) => !names.has(name))).toEqual([])
  }
  expect(await server.end()).toBe(0)
  // What clients do is not a warning.
  const warnings = server.output().match(/"level":"(?:warn|error|fatal)".*/g) ?? []
  expect(warnings.filter((line) => !line.includes('JWT_JWKS_URL'))).toEqual([])
})

/** Creates and lists plants of one account until the end; a status of 0 is a connection that broke. */
async function behave(server: ServerProcess, token: string, index: number, end: number) {
  const client = { token, statuses: [] as number[], times: [] as number[], created: [] as string[] }
  let connection = await openConnection(server.url)

  async function send(wire: string): Promise<number> {
    const response = await connection.send(wire).catch(() => undefined)
    client.statuses.push(response?.status ?? 0)
    if (response) client.times.push(response.milliseconds)
    else connection = await openConnection(server.url)
    return response?.status ?? 0
  }

  for (let id = 0; performance.now() < end; id++) {
    const name = `plant ${id} of ${index}`
    if ((await send(createPlant(token, id, name))) === 200) client.created.push(name)
    await send(listPlants(token, '?limit=10'))
    await sleep(PAUSE)
  }
  connection.socket.destroy()
  return client
}

async function namesOf({ url }: ServerProcess, token: string): Promise<string[]> {
  const response = await fetch(`${url}/plants`, { headers: { authorization: `Bearer ${token}` } })
  return response.status === 200 ? ((await response.json()) as { name: string }[]).map(({ name }) => name) : []
}

/** Returns the value below which a share of the values lies. */
function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
}
