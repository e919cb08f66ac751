import { setTimeout as sleep } from 'node:timers/promises'
import { type Contender, startContender } from './contender.ts'
import { createDatabase } from './database.ts'
import { judge, median, type Scenario } from './rounds.ts'

/** In seconds. */
const MAX_STARTUP = 0.4
const MEGABYTE = 1e6
/** In MB. */
const MAX_IDLE_MEMORY = 100
/** How long the server is idle before its memory is read, in milliseconds. */
const IDLE_TIME = 3_000

/**
 * The time from starting the built server, on a migrated database, to its first response, and its resident memory when
 * it is idle after a GET and a POST.
 */
export const startTime: Scenario = async (progress, { rounds, share }) => {
  const database = await createDatabase(100)
  const times: number[] = []
  const memory: number[] = []
  for (let round = 0; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`)
    const begin = performance.now()
    const server = await startContender('plant-store', database.token, { DATABASE_URL: database.url })
    await request(server, { method: 'GET' })
    const time = performance.now() - begin
    await request(server, { method: 'POST', body: JSON.stringify({ id: 1_000_000 + round, name: 'Monstera' }) })
    await sleep(IDLE_TIME * share)
    if (round > 0) {
      times.push(time / 1_000)
      memory.push(server.memory() / MEGABYTE)
    }
    await server.stop()
  }
  await database.remove()
  const what = 'start of the built server to its first response'
  return [
    judge({ what, value: median(times), digits: 2, unit: 's', max: MAX_STARTUP }),
    judge({ what: 'resident memory when idle', value: median(memory), digits: 0, unit: 'MB', max: MAX_IDLE_MEMORY }),
  ]
}

async function request({ port, token }: Contender, options: RequestInit): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(`http://127.0.0.1:${port}/plants`, { ...options, headers })
  await response.text()
  if (response.status !== 200) throw new Error(`${options.method} /plants responded ${response.status}`)
}
