import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { type ServerProcess, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { percentile } from '../helpers/telemetry/percentile.ts'
import { openConnection } from '../helpers/wire/connection.ts'
import { createPlant, listPlants } from '../helpers/wire/requests.ts'

if (!isLong) console.log('server/test/limits/load.test.ts runs in part: PLANT_STORE_LONG_TESTS=1 runs all of it')

const folder = temporaryFolder()

describe('at four times the load limit', () => {
  test('accepted requests get a response within a second and are stored; the others are shed immediately', {
    timeout: 60_000,
  }, async () => {
    const { server, token } = await startWithToken(folder, 'overload', {
      MAX_REQUESTS_IN_FLIGHT: '100',
    })
    const end = performance.now() + (isLong ? 15_000 : 3_000)
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
    const slowest = percentile(accepted, 0.99)
    console.log(
      `overload: ${accepted.length} accepted, median ${percentile(accepted, 0.5).toFixed(0)} ms, p99 ${slowest.toFixed(0)} ms; ${shed.length} shed, p99 ${percentile(shed, 0.99).toFixed(0)} ms`,
    )
    expect(shed.length).toBeGreaterThan(0)
    // Times mean something only if no other tests run at the same time.
    if (isLong) expect(Math.max(slowest, percentile(shed, 0.99))).toBeLessThan(1_000)
    await until(async () => (await list(server, token)).status === 200)
    expect(await (await list(server, token)).json()).toHaveLength(accepted.length)
    expect(await server.end()).toBe(0)
    expect(countShed(server)).toBe(shed.length)
  })
})

describe('many slow connections', () => {
  const connections = isLong ? 10_000 : 1_000

  test(`while ${connections} are opened, valid requests get a response within a second`, {
    timeout: 120_000,
  }, async () => {
    const { server, token } = await startWithToken(folder, 'slow')
    const { hostname, port } = new URL(server.url)
    const sockets: Socket[] = []
    const client = await openConnection(server.url)
    const times: number[] = []
    for (let opened = 0; opened < connections; opened += 100) {
      for (let index = 0; index < 100; index++) {
        const socket = connect(Number(port), hostname).on('error', () => {})
        // Half of them are silent, the others send headers that never end.
        if (index % 2 === 0) socket.write('GET /plants HTTP/1.1\r\nHost: ')
        sockets.push(socket)
      }
      const created = await client.send(createPlant(token, opened))
      const page = await client.send(listPlants(token, '?limit=1'))
      expect([created.status, page.status]).toEqual([200, 200])
      times.push(created.milliseconds, page.milliseconds)
      await sleep(30)
    }
    const slowest = percentile(times, 0.99)
    const open = sockets.filter(({ readyState }) => readyState === 'open').length
    console.log(
      `${connections} slow connections, ${open} open at the end: p99 of valid requests ${slowest.toFixed(0)} ms`,
    )
    if (isLong) expect(slowest).toBeLessThan(1_000)
    for (const socket of sockets) socket.destroy()
    client.socket.destroy()
    expect(await server.end()).toBe(0)
  })
})

function list({ url }: ServerProcess, token: string): Promise<Response> {
  return fetch(`${url}/plants`, { headers: { authorization: `Bearer ${token}` } })
}

/** Counts the shed requests in the log, which must not have a line for each. */
function countShed(server: ServerProcess): number {
  const counts = [...server.output().matchAll(/"rejected":\{"in-flight":(\d+)\}/g)].map(([, count]) => Number(count))
  expect(server.output().match(/"msg":"requests rejected"/g)).toHaveLength(counts.length)
  expect(server.output()).not.toMatch(/"level":"(?:warn|error|fatal)"/)
  return counts.reduce((sum, count) => sum + count, 0)
}
