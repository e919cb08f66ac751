/** What is left of connections that end in every way: nothing. And that they end at all. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'vitest'
import { isLong, isNightly } from '../../../test/helpers/long-tests.ts'
import { memoryInUse } from '../../../test/helpers/memory-in-use.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { until } from '../../../test/helpers/until.ts'
import { addLongList } from '../helpers/storage/long-list.ts'
import { readMetric } from '../helpers/telemetry/read-metric.ts'
import {
  createPlant,
  get,
  KEEP_ALIVE,
  listPlants,
  NO_TOKEN,
  post,
  postHead,
  request,
  withToken,
} from '../helpers/wire/requests.ts'

const MEBIBYTE = 2 ** 20
const COUNT = isNightly ? 100_000 : isLong ? 10_000 : 1_000
/** How long they may take on a busy machine, in milliseconds. */
const TIMEOUT = 1_800_000
/** How many connections are open at the same time. */
const CLIENTS = 32
const SEED = Number(process.env['PLANT_STORE_FUZZ_SEED'] ?? Date.now() % 2 ** 31)

const UPGRADE = { ...KEEP_ALIVE, Connection: 'Upgrade', Upgrade: 'h2c' }
const PLANT = '{"id":7,"name":"plant 7"}'
const CHUNKED = postHead({ 'Transfer-Encoding': 'chunked' })
const CONNECT = request({ method: 'CONNECT', target: 'x:1' })

/** What clients send, of which a connection gets several: nothing of it may stay. */
const wires = [
  listPlants('<token>'),
  listPlants('<token>', '?limit=1'),
  // Looked up each time, and behind that.
  listPlants('pst_unknown').repeat(3),
  get('/plants', { ...KEEP_ALIVE, X: 'x'.repeat(15_000) }),
  createPlant('<token>', 7),
  post('{', KEEP_ALIVE),
  get('/docs/swagger-ui.css', { ...KEEP_ALIVE, ...NO_TOKEN }),
  get('/plants', UPGRADE),
  post(PLANT, UPGRADE),
  CONNECT,
  'garbage\r\n\r\n',
  'GET /plants HTTP/1.1\r\nHost: ',
  postHead({ 'Content-Length': '100' }) + PLANT,
  `${CHUNKED}5\r\n{"id"\r\n`,
  `${postHead({ Expect: '100-continue', 'Content-Length': String(PLANT.length) })}${PLANT}`,
  get('/plants', { ...KEEP_ALIVE, Host: ['a', 'a'] }),
]

/** How a client ends its connection. */
const ends: ((socket: Socket) => void)[] = [
  (socket) => socket.resume().end(),
  (socket) => socket.destroy(),
  (socket) => socket.resetAndDestroy(),
  (socket) => socket.once('data', () => socket.destroy()),
  (socket) => socket.once('data', () => socket.resetAndDestroy()),
  (socket) => socket.resume().setTimeout(20, () => socket.destroy()),
]

/** Creates random numbers below a limit from a seed (Lehmer). */
function createRandom(seed: number): (limit: number) => number {
  let state = (seed % 2_147_483_646) + 1
  return (limit) => {
    state = (state * 48_271) % 2_147_483_647
    return state % limit
  }
}

/** Opens connections and aborts them at random, until the server has none. */
async function abort(server: TestServer, count: number, random: (limit: number) => number): Promise<void> {
  const { hostname, port } = new URL(server.url)
  const choose = <Item>(items: readonly Item[]) => items[random(items.length)] as Item
  let begun = 0
  async function run(): Promise<void> {
    while (begun++ < count) {
      const wire = withToken(Array.from({ length: 1 + random(4) }, () => choose(wires)).join(''), server.token)
      const socket = connect(Number(port), hostname).on('error', () => {})
      // In one packet or two.
      const half = random(3) === 0 ? random(wire.length) : wire.length
      socket.write(wire.slice(0, half), 'latin1')
      if (half < wire.length) socket.write(wire.slice(half), 'latin1')
      choose(ends)(socket)
      await Promise.race([once(socket, 'close'), sleep(200)])
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, run))
  for (const name of ['open_connections', 'requests_in_flight']) {
    await until(async () => (await readMetric(server, `plant_store_${name}`)) === 0)
  }
}

test(
  `of connections that are aborted in every way, nothing stays (seed ${SEED})`,
  async () => {
    await using server = await startTestServer({ adminPort: 0, requestTimeout: 2_000 })
    await addLongList(server.databaseUrl, 'alice', 2)
    const random = createRandom(SEED)
    await abort(server, 300, random)
    const memory = memoryInUse()
    // Connections, timers and whatever else keeps a process running.
    const { length: resources } = process.getActiveResourcesInfo()
    await abort(server, COUNT, random)
    await until(() => memoryInUse() - memory < 4 * MEBIBYTE)
    await until(() => process.getActiveResourcesInfo().length <= resources)
  },
  TIMEOUT,
)
