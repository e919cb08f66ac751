/** What is left of connections that end in every way: nothing. And that they end at all. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'vitest'
import { isLong, isNightly } from '../../../test/helpers/long-tests.ts'
import { memoryInUse } from '../../../test/helpers/memory-in-use.ts'
import { until } from '../../../test/helpers/programs.ts'
import { createRandom } from '../../../test/helpers/random.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { generateToken } from '../../src/accounts/tokens.ts'
import { addLongList, attack } from '../helpers/hostile-clients.ts'
import { readMetric } from '../helpers/telemetry/read-metric.ts'

const MEBIBYTE = 2 ** 20
const COUNT = isNightly ? 100_000 : isLong ? 10_000 : 1_000
/** How long they may take on a busy machine, in milliseconds. */
const TIMEOUT = 1_800_000
/** How many connections are open at the same time. */
const CLIENTS = 32
const random = createRandom()

/** Opens connections and aborts them at random, until the server has none. */
async function abort(server: TestServer, count: number): Promise<void> {
  const { hostname, port } = new URL(server.url)
  let begun = 0
  async function run(): Promise<void> {
    while (begun++ < count) {
      const socket = connect(Number(port), hostname).on('error', () => {})
      attack(socket, server.token, generateToken(), random)
      await Promise.race([once(socket, 'close'), sleep(100 * random())])
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, run))
  for (const name of ['open_connections', 'requests_in_flight']) {
    await until(async () => (await readMetric(server, `plant_store_${name}`)) === 0)
  }
}

test(
  'of connections that are aborted in every way, nothing stays',
  async () => {
    await using server = await startTestServer({ adminPort: 0, requestTimeout: 2_000 })
    await addLongList(server.databaseUrl, 'alice', 1)
    await abort(server, 300)
    const memory = memoryInUse()
    // Connections, timers and whatever else keeps a process running.
    const { length: resources } = process.getActiveResourcesInfo()
    await abort(server, COUNT)
    await until(() => memoryInUse() - memory < 4 * MEBIBYTE)
    await until(() => process.getActiveResourcesInfo().length <= resources)
  },
  TIMEOUT,
)
