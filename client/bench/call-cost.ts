/**
 * Measures the cost of an SDK call relative to bare `fetch` with `JSON.parse`, with the same server in the same run.
 * The two take turns, so that other load on the machine affects both; the medians of the rounds are compared.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createPlantStoreClient } from '@plant-store/client'

const ROUNDS = 60
const CALLS_PER_ROUND = 200
const MAX_RATIO = 1.15

const server = spawn(process.execPath, [fileURLToPath(new URL('server.ts', import.meta.url))], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const [port] = await once(server.stdout, 'data')
  await compare(`http://127.0.0.1:${String(port).trim()}`)
} finally {
  server.kill()
}

async function compare(baseUrl: string): Promise<void> {
  const client = createPlantStoreClient({ baseUrl, token: 'pst_bench' })
  const url = `${baseUrl}/plants`
  const headers = { accept: 'application/json', authorization: 'Bearer pst_bench' }
  const postHeaders = { ...headers, 'content-type': 'application/json' }
  const plant = { id: 1, name: 'Monstera deliciosa', tag: 'aroid' }
  const read = async (response: Response): Promise<unknown> => JSON.parse(await response.text())

  const ratios = [
    await measure(
      'list of 100',
      async () => read(await fetch(url, { headers })),
      () => client.getPlants(),
    ),
    await measure(
      'create',
      async () => read(await fetch(url, { method: 'POST', headers: postHeaders, body: JSON.stringify(plant) })),
      () => client.createPlant(plant),
    ),
  ]
  if (Math.max(...ratios) <= MAX_RATIO) return
  console.error(`A call costs more than ${MAX_RATIO} times bare fetch.`)
  process.exitCode = 1
}

/** Prints and returns the ratio of the two costs. */
async function measure(name: string, bare: () => Promise<unknown>, sdk: () => Promise<unknown>): Promise<number> {
  const times = { bare: [] as number[], sdk: [] as number[] }
  await timeRound(bare)
  await timeRound(sdk)
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? (['bare', 'sdk'] as const) : (['sdk', 'bare'] as const)
    for (const contender of order) times[contender].push(await timeRound(contender === 'bare' ? bare : sdk))
  }
  const [bareTime, sdkTime] = [median(times.bare), median(times.sdk)]
  const ratio = sdkTime / bareTime
  console.log(
    `${name}: fetch ${bareTime.toFixed(1)} µs, SDK ${sdkTime.toFixed(1)} µs per call, ratio ${ratio.toFixed(3)}`,
  )
  return ratio
}

/** Returns the microseconds per call. */
async function timeRound(call: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  for (let calls = 0; calls < CALLS_PER_ROUND; calls++) await call()
  return ((performance.now() - start) * 1000) / CALLS_PER_ROUND
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
