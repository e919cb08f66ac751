/** Random connections: pipelined and half requests, half-closes, resets, no reading. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { until } from '../../../test/helpers/until.ts'
import { requestBegan, requestEnded, subscribe } from '../../src/telemetry/events.ts'
import { readMetrics } from '../helpers/telemetry/read-metric.ts'
import { openConnection } from '../helpers/wire/connection.ts'
import { createPlant, get, KEEP_ALIVE, listPlants, NO_TOKEN, postHead, withToken } from '../helpers/wire/requests.ts'

/** The longest pause of a client, in milliseconds. */
const MAX_PAUSE = 5
const OPEN = { ...KEEP_ALIVE, ...NO_TOKEN }
const CHUNKED = postHead({ 'Transfer-Encoding': 'chunked' })

test('every request ends once, nothing stays in flight, and no disconnect stores half a plant, affects others or is a warning', {
  timeout: 120_000,
}, async () => {
  const log: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line) => void log.push(line) })
  // The last one closes connections that a client neither reads nor resets.
  await using server = await startTestServer({ adminPort: 0, stallTimeout: 2_000 }, { logger })
  const count = { began: 0, ended: 0 }
  onTestFinished(subscribe(requestBegan, () => void count.began++))
  onTestFinished(subscribe(requestEnded, () => void count.ended++))
  const { token: long } = await server.createToken({ account: 'long' })
  // `fetch` would keep its connection open.
  const client = await openConnection(server.url)
  for (const id of [1, 2]) await client.send(createPlant(long, id, 'x'.repeat(900_000)))
  client.socket.destroy()

  const requests = [
    get('/nothing', OPEN),
    get('/docs/swagger-ui-bundle.js', OPEN),
    get('/plants'),
    listPlants(server.token),
    listPlants(server.token, '?limit=1'),
    listPlants('wrong'),
    // In pieces.
    listPlants(long),
    createPlant(server.token, 1),
    `${CHUNKED}19\r\n{"id":1,"name":"plant 1"}\r\n0\r\n\r\n`,
    `${postHead({ Expect: '100-continue', 'Content-Length': '25' })}{"id":1,"name":"plant 1"}`,
    // The rest is never sent, whatever follows.
    `${postHead({ 'Content-Length': '1000000' })}{"id":2,"name":"half`,
    'GET /plants HTTP/1.1\r\nHo',
    'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
    'nonsense\r\n\r\n',
  ].map((wire) => withToken(wire, server.token))
  const wires = fc.array(fc.constantFrom(...requests), { minLength: 1, maxLength: 60 }).map((parts) => parts.join(''))
  const actions: Record<string, (socket: Socket) => unknown> = {
    pause: (socket) => socket.pause(),
    resume: (socket) => socket.resume(),
    end: (socket) => socket.end(),
    reset: (socket) => socket.resetAndDestroy(),
    destroy: (socket) => socket.destroy(),
    wait: () => sleep(Math.random() * MAX_PAUSE),
  }
  /** An action, or what is written. */
  const step = fc.oneof({ weight: 3, arbitrary: wires }, fc.constantFrom(...Object.keys(actions)))

  const { hostname, port } = new URL(server.url)
  /** Takes the steps of a connection, and then closes it. */
  async function converse(steps: string[]): Promise<void> {
    const socket = connect(Number(port), hostname).on('error', () => {})
    for (const each of steps) {
      if (socket.destroyed || !socket.writable) break
      await (actions[each] ?? (() => socket.write(each)))(socket)
    }
    await sleep(MAX_PAUSE)
    socket.destroy()
  }
  const isQuiet = async () => {
    const metrics = await readMetrics(server)
    const inFlight = metrics.get('plant_store_requests_in_flight')
    return inFlight === 0 && metrics.get('plant_store_open_connections') === 0 && count.ended === count.began
  }

  const connections = fc.array(fc.array(step, { maxLength: 8 }), { minLength: 1, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(connections, async (all) => {
      await Promise.all(all.map(converse))
      await until(isQuiet, 20_000)
    }),
    { numRuns: 60, endOnFailure: true },
  )
  expect(count.began).toBeGreaterThan(30)
  const names = (await (await server.call('/plants')).json()) as unknown[]
  expect(names.filter((plant) => JSON.stringify(plant) !== '{"name":"plant 1"}')).toEqual([])
  expect(log).toEqual([])
})
