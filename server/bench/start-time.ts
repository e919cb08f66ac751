import { startContender } from './contender.ts'
import { createDatabase } from './database.ts'
import { median, type Scenario } from './rounds.ts'

const ROUNDS = 5

/** The time from starting the built server, on a migrated database, to its first response. */
export const startTime: Scenario = async (progress) => {
  const database = await createDatabase(100)
  const times: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    progress(`round ${round} of ${ROUNDS}`)
    const begin = performance.now()
    const server = await startContender('plant-store', database.token, { DATABASE_URL: database.url })
    const headers = { authorization: `Bearer ${server.token}` }
    const response = await fetch(`http://127.0.0.1:${server.port}/plants`, { headers })
    await response.text()
    if (round > 0) times.push(performance.now() - begin)
    await server.stop()
  }
  await database.remove()
  const seconds = median(times) / 1000
  return [
    {
      what: 'start of the built server to its first response',
      name: 'plant-store',
      value: seconds.toFixed(2),
      unit: 's',
      goal: '<= 1',
      passed: seconds <= 1,
      detail: '',
    },
  ]
}
