/** A server under more load than it can handle, and under attack. */
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { isNightly } from '../../../test/helpers/long-tests.ts'
import { until } from '../../../test/helpers/programs.ts'
import { callPlants, createPlant } from '../../../test/helpers/server/call-plants.ts'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { generateToken } from '../../src/accounts/tokens.ts'
import { addLongList, attack, keepConnecting } from '../helpers/hostile-clients.ts'
import { readMetric, readMetrics } from '../helpers/read-metric.ts'
import { postHead, withToken } from '../helpers/requests.ts'
import type { Target } from '../helpers/wire.ts'

const MEBIBYTE = 2 ** 20
const folder = temporaryFolder()

test('at four times the load limit, accepted requests get a response within a second and are stored; others are shed immediately', async () => {
  const { server, token } = await startWithToken(folder, 'overload', { MAX_REQUESTS_IN_FLIGHT: '100' })
  const end = performance.now() + 5_000
  const accepted: number[] = []
  const shed: number[] = []
  let id = 0
  // Their first requests arrive together.
  const create = async () => {
    for (let begin = 0; begin < end; ) {
      begin = performance.now()
      const { status, retryAfter } = await createPlant(server.url, token, ++id)
      const times = status === 200 ? accepted : shed
      times.push(performance.now() - begin)
      if (status !== 200) expect([status, retryAfter]).toEqual([503, expect.stringMatching(/^\d+$/)])
    }
  }
  await Promise.all(Array.from({ length: 400 }, create))
  expect(shed.length).toBeGreaterThan(0)
  // On a slow machine, those of the first turn take longer.
  expect(Math.max(percentile(accepted, 0.9), percentile(shed, 0.99))).toBeLessThan(1_000)
  await until(async () => (await namesOf({ ...server, token })).length === accepted.length)
  expect(await server.end()).toBe(0)
  // What is shed is counted, not logged.
  expect(server.output()).not.toMatch(/"level":"(?:warn|error|fatal)"/)
})

const SOAK = isNightly ? 90_000 : 30_000
const CLIENTS = 20
/** The time between two requests of a well-behaved client, in milliseconds. */
const PAUSE = 50
const HOSTILE_CONNECTIONS = 140
/** How many of them send bodies that do not arrive. */
const STALLED = 50
/** The heap is limited to 256 MB; buffers, code and stacks need memory, too. */
const MAX_RESIDENT = 512 * MEBIBYTE

test('well-behaved clients are served in time and lose nothing while hostile ones of every kind attack', async () => {
  const accounts = ['mallory', ...Array.from({ length: CLIENTS }, (_, index) => `client ${index}`)]
  // Fewer than there are hostile clients: what waits for one of them has to give way.
  const environment = { ADMIN_PORT: '0', MAX_REQUESTS_IN_FLIGHT: '60', NODE_OPTIONS: '--max-old-space-size=256' }
  const { server, tokens } = await startWithToken(folder, 'soak', environment, accounts)
  const [hostileToken = '', ...clientTokens] = tokens
  // Longer than what the operating system buffers for a client that does not read.
  await addLongList(`file:${path.join(folder, 'soak.db')}`, 'mallory', 31)

  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const stalled = withToken(`${postHead({ 'Content-Length': '1000' })}{`, hostileToken)
  for (let count = 0; count < HOSTILE_CONNECTIONS; count++) {
    keepConnecting(server.url, stop.signal, (socket) =>
      count < STALLED ? socket.write(stalled) : attack(socket, hostileToken, generateToken()),
    )
  }
  const end = performance.now() + SOAK
  const behaving = Promise.all(clientTokens.map((token) => behave({ ...server, token }, end)))
  let resident = 0
  for (; performance.now() < end; await sleep(1_000)) {
    resident = Math.max(resident, await readMetric(server, 'process_resident_memory_bytes'))
  }
  const behaved = await behaving
  stop.abort()

  const responses = behaved.flatMap((client) => client.responses)
  expect(responses.filter(({ status }) => status !== 200).length / responses.length).toBeLessThan(0.01)
  expect(resident).toBeLessThan(MAX_RESIDENT)
  const times = responses.map(({ milliseconds }) => milliseconds)
  expect(percentile(times, 0.99)).toBeLessThan(1_000)
  // The server still has to accept and reject what the operating system has queued. Then each request has ended once.
  const open = /^(?:http_server_active_requests\{|plant_store_(?:requests_in_flight|open_connections)$)/
  await until(async () => [...(await readMetrics(server))].every(([name, value]) => !open.test(name) || value === 0))
  expect(
    (await namesOf({ ...server, token: hostileToken })).filter((name) => !/^(?:0+|plant 1000|taken)$/.test(name)),
  ).toEqual([])
  for (const { target, created } of behaved) {
    const names = new Set(await namesOf(target))
    expect(created.filter((name) => !names.has(name))).toEqual([])
  }
  expect(await server.end()).toBe(0)
  // What clients do is not a warning.
  expect(server.output()).not.toMatch(/"level":"(?:warn|error|fatal)"/)
})

/** Creates and lists plants of one account until the end. */
async function behave(target: Target, end: number) {
  const responses: { status: number | undefined; milliseconds: number }[] = []
  const created: string[] = []
  for (let id = 0; performance.now() < end; id++) {
    const name = `plant ${id}`
    for (const request of [{ body: JSON.stringify({ id, name }) }, { query: '?limit=10' }]) {
      const begin = performance.now()
      const { status, body } = await callPlants(target, request)
      responses.push({ status, milliseconds: performance.now() - begin })
      if (body === JSON.stringify({ name })) created.push(name)
    }
    await sleep(PAUSE)
  }
  return { target, responses, created }
}

async function namesOf(target: Target): Promise<string[]> {
  const { status, body } = await callPlants(target)
  return status === 200 ? (JSON.parse(body) as { name: string }[]).map(({ name }) => name) : []
}

/** Returns the value below which a share of the values lies. */
function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
}
