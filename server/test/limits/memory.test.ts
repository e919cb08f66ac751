/** The memory of a server over the requests of an hour: its trend does not depend on what else the machine does. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { openConnection } from '../helpers/wire/connection.ts'
import { createPlant, listPlants } from '../helpers/wire/requests.ts'

if (!isLong) console.log('The memory of a server is not tested: set PLANT_STORE_LONG_TESTS=1 for that.')

const MINUTE = 60_000
/** At least five minutes, and on a busy machine as long as the requests take. */
const MIN_DURATION = 5 * MINUTE
/** 80 requests a second for an hour. */
const MIN_REQUESTS = 300_000

test.runIf(isLong)('memory has no trend', { timeout: 15 * MINUTE }, async () => {
  const { server, token } = await startWithToken(temporaryFolder(), 'memory', { ADMIN_PORT: '0' })
  const begin = performance.now()
  const samples: { heap: number; resident: number }[] = []
  let requests = 0
  const isDone = () => performance.now() > begin + MIN_DURATION && requests > MIN_REQUESTS
  const work = async (worker: number) => {
    let client = await openConnection(server.url)
    for (let round = 0; !isDone(); round++) {
      const kind = round % 10
      if (kind === 9) {
        // A client that disconnects in the middle of its request.
        client.socket.write(createPlant(token, 1).slice(0, -5))
        client.socket.destroy()
        client = await openConnection(server.url)
      } else if (kind < 4) await client.send(createPlant(token, (worker * 1_000 + round) % 2_000))
      else if (kind < 6) await client.send(listPlants(token, '?limit=20'))
      else if (kind === 6) await client.send(createPlant(token, 1, 'taken'))
      else if (kind === 7) await client.send(listPlants('pst_wrong'))
      else await client.send(listPlants(token, '?limit=none'))
      requests++
      if (round % 10 === 0) await sleep(100)
    }
    client.socket.destroy()
  }
  const workers = Promise.all(Array.from({ length: 16 }, (_, worker) => work(worker)))
  while (!isDone()) {
    await sleep(1_000)
    const text = await (await fetch(`${server.adminUrl}/metrics`)).text()
    const read = (name: string) => Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1])
    samples.push({ heap: read('nodejs_heap_size_used_bytes'), resident: read('process_resident_memory_bytes') })
  }
  await workers
  await server.end()

  // The smallest heap in a fifth of the time is what garbage collection cannot free.
  const part = (number: number) => samples.slice((number * samples.length) / 5, ((number + 1) * samples.length) / 5)
  const heap = (number: number) => Math.min(...part(number).map((sample) => sample.heap)) / 2 ** 20
  const resident = (number: number) => Math.max(...part(number).map((sample) => sample.resident)) / 2 ** 20
  const numbers = [0, 1, 2, 3, 4]
  console.log(
    `memory: ${requests} requests; smallest heap per fifth ${numbers.map((number) => heap(number).toFixed(1)).join(', ')} MiB; largest resident ${numbers.map((number) => resident(number).toFixed(0)).join(', ')} MiB`,
  )
  expect(heap(4)).toBeLessThan(heap(1) * 1.1 + 2)
  expect(resident(4)).toBeLessThan(resident(1) * 1.15)
})
