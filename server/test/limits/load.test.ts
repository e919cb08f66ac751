import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { type ServerProcess, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { createRequest, listRequest, openCaller, percentile } from '../helpers/wire/keep-alive-caller.ts'

if (!isLong) console.log('server/test/limits/load.test.ts runs in part: PLANT_STORE_LONG_TESTS=1 runs all of it')

const folder = temporaryFolder()

describe('at four times the load that it takes on', () => {
  test('what is accepted is answered within a second and kept; what is not is refused at once', {
    timeout: 60_000,
  }, async () => {
    const { server, token } = await startWithToken(folder, 'overload', { MAX_REQUESTS_IN_FLIGHT: '100' })
    const end = performance.now() + (isLong ? 15_000 : 3_000)
    const accepted: number[] = []
    const refused: number[] = []
    let id = 0
    await Promise.all(
      Array.from({ length: 400 }, async () => {
        const caller = await openCaller(server.url)
        while (performance.now() < end) {
          const { status, head, milliseconds } = await caller.send(createRequest(token, ++id))
          if (status === 200) accepted.push(milliseconds)
          else {
            expect(status).toBe(503)
            expect(head).toMatch(/^Retry-After: \d+$/m)
            refused.push(milliseconds)
          }
        }
        caller.socket.destroy()
      }),
    )
    const slowest = percentile(accepted, 0.99)
    console.log(
      `overload: ${accepted.length} accepted, median ${percentile(accepted, 0.5).toFixed(0)} ms, p99 ${slowest.toFixed(0)} ms; ${refused.length} refused, p99 ${percentile(refused, 0.99).toFixed(0)} ms`,
    )
    expect(refused.length).toBeGreaterThan(0)
    // How fast it is counts where nothing else runs: not beside the other tests of the quick suite.
    if (isLong) expect(Math.max(slowest, percentile(refused, 0.99))).toBeLessThan(1_000)
    await until(async () => (await list(server, token)).status === 200)
    expect(await (await list(server, token)).json()).toHaveLength(accepted.length)
    expect(await server.end()).toBe(0)
    expect(turnedAway(server)).toBe(refused.length)
  })
})

describe('many connections that are opened slowly', () => {
  const connections = isLong ? 10_000 : 1_000

  test(`while ${connections} are, valid requests are answered within a second`, { timeout: 120_000 }, async () => {
    const { server, token } = await startWithToken(folder, 'slow')
    const { hostname, port } = new URL(server.url)
    const sockets: Socket[] = []
    const caller = await openCaller(server.url)
    const times: number[] = []
    for (let opened = 0; opened < connections; opened += 100) {
      for (let index = 0; index < 100; index++) {
        const socket = connect(Number(port), hostname).on('error', () => {})
        // Half of them are silent, the others send headers that never end.
        if (index % 2 === 0) socket.write('GET /plants HTTP/1.1\r\nHost: ')
        sockets.push(socket)
      }
      const create = await caller.send(createRequest(token, opened))
      const page = await caller.send(listRequest(token, '?limit=1'))
      expect([create.status, page.status]).toEqual([200, 200])
      times.push(create.milliseconds, page.milliseconds)
      await sleep(30)
    }
    const slowest = percentile(times, 0.99)
    const open = sockets.filter(({ readyState }) => readyState === 'open').length
    console.log(
      `${connections} slow connections, ${open} open at the end: p99 of valid requests ${slowest.toFixed(0)} ms`,
    )
    if (isLong) expect(slowest).toBeLessThan(1_000)
    for (const socket of sockets) socket.destroy()
    caller.socket.destroy()
    expect(await server.end()).toBe(0)
  })
})

describe.runIf(isLong)('over five minutes of an hour’s requests', () => {
  test('memory has no trend', { timeout: 400_000 }, async () => {
    const { server, token } = await startWithToken(folder, 'memory', { ADMIN_PORT: '0' })
    const minutes = 5
    const end = performance.now() + minutes * 60_000
    const samples: { heap: number; resident: number }[] = []
    let requests = 0
    const work = async (worker: number) => {
      let caller = await openCaller(server.url)
      for (let round = 0; performance.now() < end; round++) {
        const kind = round % 10
        if (kind === 9) {
          // A caller that goes away in the middle of its request.
          caller.socket.write(createRequest(token, 1).slice(0, -5))
          caller.socket.destroy()
          caller = await openCaller(server.url)
        } else if (kind < 4) await caller.send(createRequest(token, (worker * 1_000 + round) % 2_000))
        else if (kind < 6) await caller.send(listRequest(token, '?limit=20'))
        else if (kind === 6) await caller.send(createRequest(token, 1, 'taken'))
        else if (kind === 7) await caller.send(listRequest('pst_wrong'))
        else await caller.send(listRequest(token, '?limit=none'))
        requests++
        // 100 requests a second for an hour, in five minutes.
        if (round % 10 === 0) await sleep(100)
      }
      caller.socket.destroy()
    }
    const workers = Promise.all(Array.from({ length: 16 }, (_, worker) => work(worker)))
    while (performance.now() < end - 5_000) {
      await sleep(1_000)
      const text = await (await fetch(`${server.adminUrl}/metrics`)).text()
      const read = (name: string) => Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1])
      samples.push({ heap: read('nodejs_heap_size_used_bytes'), resident: read('process_resident_memory_bytes') })
    }
    await workers
    await server.end()

    // The least of the heap in a minute is what no collection takes away.
    const minute = (number: number) => samples.slice(number * 60, (number + 1) * 60)
    const heap = (number: number) => Math.min(...minute(number).map((sample) => sample.heap)) / 2 ** 20
    const resident = (number: number) => Math.max(...minute(number).map((sample) => sample.resident)) / 2 ** 20
    const numbers = Array.from({ length: minutes }, (_, number) => number)
    console.log(
      `memory: ${requests} requests; least heap a minute ${numbers.map((number) => heap(number).toFixed(1)).join(', ')} MiB; most resident ${numbers.map((number) => resident(number).toFixed(0)).join(', ')} MiB`,
    )
    expect(requests).toBeGreaterThan(300_000)
    expect(heap(4)).toBeLessThan(heap(1) * 1.1 + 2)
    expect(resident(4)).toBeLessThan(resident(1) * 1.15)
  })
})

function list({ url }: ServerProcess, token: string): Promise<Response> {
  return fetch(`${url}/plants`, { headers: { authorization: `Bearer ${token}` } })
}

/** How many callers the log says were turned away, and that it does not say so one by one. */
function turnedAway(server: ServerProcess): number {
  const counts = [...server.output().matchAll(/"rejected":\{"in-flight":(\d+)\}/g)].map(([, count]) => Number(count))
  expect(server.output().match(/"level":[4-6]0/g)).toHaveLength(counts.length)
  return counts.reduce((sum, count) => sum + count, 0)
}
