import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { readMetric } from '../helpers/telemetry/read-metric.ts'
import { openConnection } from '../helpers/wire/connection.ts'
import { createPlant, listPlants } from '../helpers/wire/requests.ts'

const MINUTE = 60_000
/** At least this long, and on a busy machine as long as the requests take. */
const MIN_DURATION = 2 * MINUTE
const MIN_REQUESTS = 120_000

test('memory has no trend', { timeout: 15 * MINUTE }, async () => {
  const { server, token } = await startWithToken(temporaryFolder(), 'memory', { ADMIN_PORT: '0' })
  const begin = performance.now()
  const samples: Record<'heap' | 'resident', number>[] = []
  let requests = 0
  const isDone = () => performance.now() > begin + MIN_DURATION && requests > MIN_REQUESTS
  const work = async (worker: number) => {
    let client = await openConnection(server.url)
    for (let round = 0; !isDone(); round++) {
      const kind = round % 10
      if (kind < 4) await client.send(createPlant(token, (worker * 1_000 + round) % 2_000))
      else if (kind < 6) await client.send(listPlants(token, '?limit=20'))
      else if (kind === 6) await client.send(createPlant(token, 1, 'taken'))
      else if (kind === 7) await client.send(listPlants('pst_wrong'))
      else if (kind === 8) await client.send(listPlants(token, '?limit=none'))
      else {
        // A client that disconnects in the middle of its request.
        client.socket.write(createPlant(token, 1).slice(0, -5))
        client.socket.destroy()
        client = await openConnection(server.url)
      }
      requests++
      if (kind === 0) await sleep(20)
    }
    client.socket.destroy()
  }
  const workers = Promise.all(Array.from({ length: 16 }, (_, worker) => work(worker)))
  for (; !isDone(); await sleep(1_000)) {
    const heap = await readMetric(server, 'nodejs_heap_size_used_bytes')
    samples.push({ heap, resident: await readMetric(server, 'process_resident_memory_bytes') })
  }
  await workers
  await server.end()

  const fifth = (number: number, name: 'heap' | 'resident') =>
    samples.slice((number * samples.length) / 5, ((number + 1) * samples.length) / 5).map((sample) => sample[name])
  // The smallest heap in a fifth of the time is what garbage collection cannot free.
  const [earlyHeap, heap] = [1, 4].map((number) => Math.min(...fifth(number, 'heap')))
  expect(heap).toBeLessThan(Number(earlyHeap) * 1.1 + 2 * 2 ** 20)
  const [earlyResident, resident] = [1, 4].map((number) => Math.max(...fifth(number, 'resident')))
  expect(resident).toBeLessThan(Number(earlyResident) * 1.15)
})
