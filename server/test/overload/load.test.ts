/** A server under more load than it can handle. */
import { expect, test } from 'vitest'
import { until } from '../../../test/helpers/programs.ts'
import { callPlants, createPlant } from '../../../test/helpers/server/call-plants.ts'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'

test('at four times the load limit, accepted requests get a response within a second and are stored; others are shed immediately', async () => {
  const { server, token } = await startWithToken(temporaryFolder(), 'overload', { MAX_REQUESTS_IN_FLIGHT: '100' })
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
  const list = async () => JSON.parse((await callPlants({ ...server, token })).body)
  await until(async () => (await list()).length === accepted.length)
  expect(await server.end()).toBe(0)
  // What is shed is counted, not logged.
  expect(server.output()).not.toMatch(/"level":"(?:warn|error|fatal)"/)
})

/** Returns the value below which a share of the values lies. */
function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
}
