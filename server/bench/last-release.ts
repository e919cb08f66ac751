/** Compares the built server with the one of the last release, in turns: `npm run bench -- --against FOLDER`. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Contender, startContender } from './contender.ts'
import { runLoad } from './load/load.ts'
import { judge, type Plan, playRounds, type Scenario } from './rounds.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const REPORT = new URL('load/report-memory.ts', import.meta.url).href
/** What an operation may take of CPU time, and a request in flight of memory, as a share of the last release. */
const MAX_RATIO = 1.1
const PLANTS = 100
/** How many requests are in flight. */
const IN_FLIGHT = 200
/** What has arrived of the body of each, in bytes; more is announced. */
const BODY = 10_000

/** @param last the folder of the last release, which is set up */
export function againstRelease(last: string): Record<'list' | 'page' | 'create' | 'memory', Scenario> {
  return {
    list: compareTime(last, 'GET, 100 plants', { kind: 'list', requests: () => 60_000 }),
    page: compareTime(last, 'GET, a page of 20', { kind: 'list', paths: ['/plants?limit=20'], requests: () => 60_000 }),
    create: compareTime(last, 'POST', { kind: 'create', requests: () => 20_000 }),
    memory: compareMemory(last),
  }
}

function compareTime(last: string, operation: string, load: Pick<Plan, 'kind' | 'paths' | 'requests'>): Scenario {
  return (progress, effort) =>
    withBoth(last, async (contenders) => {
      // Turns that are shorter have more in common.
      const shorter = { rounds: effort.rounds * 2, share: effort.share / 4 }
      const [before, now] = await playRounds(contenders, { ...load, connections: 64, effort: shorter }, progress)
      if (!before || !now) throw new Error('nothing was measured')
      const detail = `${now.leastCpu.toFixed(1)} us, before ${before.leastCpu.toFixed(1)} us`
      const figure = {
        what: `${operation}: CPU time`,
        value: now.leastCpu / before.leastCpu,
        digits: 2,
        unit: 'x before',
      }
      return [judge({ ...figure, max: MAX_RATIO, detail })]
    })
}

const compareMemory =
  (last: string): Scenario =>
  (progress) =>
    withBoth(last, async (contenders) => {
      const sizes: number[] = []
      for (const contender of contenders) {
        progress(contender.name)
        sizes.push(await measureRequest(contender))
      }
      const [before = Number.NaN, now = Number.NaN] = sizes
      const detail = `${Math.round(now)} bytes, before ${Math.round(before)} bytes`
      const figure = { what: 'a request in flight: memory', value: now / before, digits: 2, unit: 'x before' }
      return [judge({ ...figure, max: MAX_RATIO, detail })]
    })

/**
 * Runs both servers, the last release first, each with a database of its own, since the other
 * may have other migrations.
 */
async function withBoth<Result>(last: string, use: (contenders: Contender[]) => Promise<Result>): Promise<Result> {
  const database = await mkdtemp(path.join(tmpdir(), 'plant-store-bench-'))
  const contenders: Contender[] = []
  try {
    contenders.push(await start('last-release', last, database), await start('plant-store', ROOT, database))
    return await use(contenders)
  } finally {
    await Promise.all(contenders.map((contender) => contender.stop()))
    await rm(database, { recursive: true })
  }
}

async function start(name: 'last-release' | 'plant-store', folder: string, database: string): Promise<Contender> {
  const script = path.join(folder, 'server/dist/main.js')
  const env = { DATABASE_URL: `file:${path.join(database, `${name}.db`)}` }
  const run = (...parameters: string[]) =>
    execFileSync(process.execPath, [script, ...parameters], { env, stdio: 'pipe' })
  run('migrate')
  const token = String(run('token', 'create', '--account', 'bench')).trim()
  const contender = await startContender(name, token, { ...env, NODE_OPTIONS: `--import=${REPORT}` }, script)
  const { port } = contender
  await runLoad({ port, tokens: [token], kind: 'create', connections: 1, seconds: 0, requests: PLANTS, firstId: 0 })
  return contender
}

/** Measures what a request takes whose body has not ended, in bytes. */
async function measureRequest(contender: Contender): Promise<number> {
  // The first ones load code.
  for (const socket of await openRequests(contender)) socket.destroy()
  await sleep(1_000)
  const idle = await contender.report()
  const sockets = await openRequests(contender)
  const used = await contender.report()
  for (const socket of sockets) socket.destroy()
  return (used - idle) / IN_FLIGHT
}

async function openRequests({ port, token }: Contender): Promise<Socket[]> {
  const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json`
  const sockets = await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      const socket = connect(port, '127.0.0.1')
      socket.write(`POST /plants HTTP/1.1\r\n${head}\r\nContent-Length: ${BODY + 1}\r\nExpect: 100-continue\r\n\r\n`)
      const [response] = await once(socket, 'data')
      if (!String(response).startsWith('HTTP/1.1 100')) throw new Error(`a request is not in flight: ${response}`)
      socket.write(`{"id":1,"name":"${'a'.repeat(BODY - 16)}`)
      return socket
    }),
  )
  await sleep(1_000)
  return sockets
}
