import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { type ServerProcess, startWithTokens } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { percentile } from '../helpers/telemetry/percentile.ts'
import { readMetric } from '../helpers/telemetry/read-metric.ts'
import { type Connection, openConnection } from '../helpers/wire/connection.ts'
import { createPlant, listPlants } from '../helpers/wire/requests.ts'

if (!isLong) console.log('server/test/limits/soak.test.ts runs in part: PLANT_STORE_LONG_TESTS=1 runs all of it')

const MILLISECONDS = isLong ? 180_000 : 3_000
const CLIENTS = 20
/** The time between two requests of a well-behaved client, in milliseconds. */
const PAUSE = 50
const HOSTILE_CONNECTIONS_OF_A_KIND = isLong ? 10 : 2
/** The heap is limited to 256 MB; buffers, code and stacks need memory, too. */
const MAX_RESIDENT = 512 * 2 ** 20
const script = fileURLToPath(new URL('../helpers/hostile/hostile-process.ts', import.meta.url))

test('well-behaved clients are served in time and lose nothing while hostile ones of every kind attack', {
  timeout: MILLISECONDS + 120_000,
}, async () => {
  const accounts = ['mallory', ...Array.from({ length: CLIENTS }, (_, index) => `client ${index}`)]
  const { server, tokens } = await startWithTokens(temporaryFolder(), 'soak', accounts, {
    ADMIN_PORT: '0',
    NODE_OPTIONS: '--max-old-space-size=256',
    // Nothing listens there: every JSON Web Token has an unknown key.
    JWT_ISSUER: 'https://login.example.com/',
    JWT_AUDIENCE: 'plants',
    JWT_JWKS_URL: 'http://127.0.0.1:9/jwks.json',
  })
  const [hostileToken = '', ...clientTokens] = tokens
  await fill(server, hostileToken)

  const hostile = spawn(process.execPath, [script, server.url, hostileToken, String(HOSTILE_CONNECTIONS_OF_A_KIND)])
  onTestFinished(() => {
    hostile.kill('SIGKILL')
  })
  const end = performance.now() + MILLISECONDS
  const [behaved, resident] = await Promise.all([
    Promise.all(clientTokens.map((token, index) => behave(server, token, index, end))),
    watchMemory(server, end),
  ])
  hostile.kill('SIGKILL')

  const statuses = behaved.flatMap((client) => client.statuses)
  const times = behaved.flatMap((client) => client.times)
  const served = statuses.filter((status) => status === 200).length / statuses.length
  console.log(
    `soak: ${statuses.length} requests, ${(served * 100).toFixed(2)} % got a 200, median ${percentile(times, 0.5).toFixed(0)} ms, p99 ${percentile(times, 0.99).toFixed(0)} ms, resident at most ${Math.round(resident / 2 ** 20)} MB`,
  )
  expect(served).toBeGreaterThanOrEqual(0.99)
  expect(resident).toBeLessThan(MAX_RESIDENT)
  // Times mean something only if no other tests run at the same time.
  if (isLong) expect(percentile(times, 0.99)).toBeLessThan(2_000)
  // The server still has to accept and reject what the operating system has queued.
  await until(async () => (await readMetric(server, 'plant_store_requests_in_flight')) === 0, 60_000)
  for (const client of behaved) {
    const names = new Set((await list(server, client.token)).map(({ name }) => name))
    expect(client.created.filter((name) => !names.has(name))).toEqual([])
  }
  expect(await server.end()).toBe(0)
})

/** Gives the account of the hostile clients a list of 31 MB. */
async function fill(server: ServerProcess, token: string): Promise<void> {
  const client = await openConnection(server.url)
  for (let id = 0; id < 31; id++) await client.send(createPlant(token, id, 'x'.repeat(2 ** 20 - 100)))
  client.socket.destroy()
}

/** The responses to a well-behaved client. */
interface Behaved {
  token: string
  /** One for each request; 0 if the connection broke. */
  statuses: number[]
  times: number[]
  /** The names of the plants whose requests got a 200. */
  created: string[]
}

/** Creates and lists plants of one account until the end. */
async function behave(server: ServerProcess, token: string, index: number, end: number): Promise<Behaved> {
  const client: Behaved = { token, statuses: [], times: [], created: [] }
  let connection = await openConnection(server.url)
  for (let id = 0; performance.now() < end; id++) {
    const name = `plant ${id} of ${index}`
    if ((await send(createPlant(token, id, name))) === 200) client.created.push(name)
    await send(listPlants(token, '?limit=10'))
    await sleep(PAUSE)
  }
  connection.socket.destroy()
  return client

  async function send(wire: string): Promise<number> {
    const { status, milliseconds } = await attempt(connection, wire)
    client.statuses.push(status)
    if (status === 0) connection = await openConnection(server.url)
    else client.times.push(milliseconds)
    return status
  }
}

async function attempt(connection: Connection, wire: string): Promise<{ status: number; milliseconds: number }> {
  try {
    return await connection.send(wire)
  } catch {
    return { status: 0, milliseconds: 0 }
  }
}

/** Measures the largest resident memory of the server until the end, in bytes. */
async function watchMemory(server: ServerProcess, end: number): Promise<number> {
  let most = 0
  while (performance.now() < end) {
    most = Math.max(most, await readMetric(server, 'process_resident_memory_bytes'))
    await sleep(1_000)
  }
  return most
}

async function list(server: ServerProcess, token: string): Promise<{ name: string }[]> {
  const response = await fetch(`${server.url}/plants`, { headers: { authorization: `Bearer ${token}` } })
  expect(response.status).toBe(200)
  return response.json() as Promise<{ name: string }[]>
}
