/**
 * Measures what retries do in an outage, in virtual time: clients that call five times a second for a minute.
 *
 * `node bench/outages.ts [clients]`, by default 200; ends with status 1 if a limit is exceeded.
 */
import { createPlantStoreClient, type Fetch, type FetchResponse } from '@plant-store/client'

const MINUTE = 60_000
const CLIENTS = Number(process.argv[2] ?? 200)

/** The functions to call at each millisecond. */
const timers = new Map<number, Set<() => void>>()
let now = 0
const { setImmediate } = globalThis
performance.now = () => now
globalThis.setTimeout = ((run: () => void, delay = 0) => {
  const at = Math.ceil(now + delay)
  timers.set(at, (timers.get(at) ?? new Set()).add(run))
  return { at, run }
}) as never
globalThis.clearTimeout = ((timer?: { at: number; run: () => void }) =>
  timer && timers.get(timer.at)?.delete(timer.run)) as never

// The generator of Park and Miller, so that another run prints the same.
let seed = 1
Math.random = () => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed / 2_147_483_647
}

/** Lets time pass until nothing is left to do. */
async function run(): Promise<void> {
  for (; timers.size > 0; now++) {
    for (const due of timers.get(now) ?? []) due()
    timers.delete(now)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

/** Responds to a request. */
function respond(status: number, ...headers: [name: string, value: string][]): FetchResponse {
  return { status, headers: new Map(headers) as never, text: async () => '[]' }
}

/** Creates clients whose requests fail, and returns the row of a table: how many requests a call sent, and how many failed. */
async function measure(title: string, share: number, failure: FetchResponse, max: [requests: number, failed: number]) {
  const count = { calls: 0, requests: 0, failed: 0 }
  const fetch: Fetch = async () => {
    count.requests++
    return Math.random() < share ? failure : respond(200)
  }
  for (let number = 0; number < CLIENTS; number++) {
    const { safe } = createPlantStoreClient({ baseUrl: 'http://localhost', token: 'pst_bench', fetch })
    const call = async () => {
      count.calls++
      if (!(await safe.getPlants()).ok) count.failed++
    }
    for (let at = now + Math.random() * 200, end = now + MINUTE; at < end; at += 200) setTimeout(call, at - now)
  }
  await run()
  const result = [count.requests / count.calls, (count.failed / count.calls) * 100]
  if (result.some((value, index) => value > Number(max[index]))) process.exitCode = 1
  return `| ${title} | ${result[0]?.toFixed(2)} | ${result[1]?.toFixed(2)} % |`
}

const [failure, shed] = [respond(500), respond(503, ['retry-after', '1'])]
console.log('| the service | requests a call | failed calls |\n|---|---|---|')
console.log(await measure('fails always', 1, failure, [1.13, 100]))
console.log(await measure('fails in 90 % of requests', 0.9, failure, [1.16, 100]))
console.log(await measure('in 50 %', 0.5, failure, [1.33, 100]))
console.log(await measure('in 40 %', 0.4, failure, [1.42, 100]))
console.log(await measure('in 10 %', 0.1, failure, [1.12, 0.16]))
console.log(await measure('sheds all, with `Retry-After`', 1, shed, [1.34, 100]))

const delays: number[] = []
for (let number = 0; number < 1000; number++) {
  let sent = 0
  const fetch: Fetch = async () => (sent++ === 0 ? Promise.reject(new TypeError('fetch failed')) : respond(200))
  const client = createPlantStoreClient({ baseUrl: 'http://localhost', token: 'pst_bench', fetch })
  const start = now
  client.getPlants().then(() => delays.push(now - start))
}
await run()
const median = Number(delays.toSorted((a, b) => a - b)[500])
console.log(`\nOne lost connection adds ${median} ms at the median.`)
if (median > 30) process.exitCode = 1
