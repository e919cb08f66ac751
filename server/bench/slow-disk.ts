import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startContender } from './contender.ts'
import { createDatabase } from './database.ts'
import { runLoad } from './load/load.ts'
import { judge, type Scenario } from './rounds.ts'

const SOURCE = fileURLToPath(new URL('../../test/helpers/database/faulty-disk.c', import.meta.url))
const PLANTS = 100
const SECONDS = 10
/** How often `/livez` is requested, in milliseconds. */
const PROBE_INTERVAL = 20

/** What is reached while a sync takes 20 ms, as on a network disk; times in milliseconds. */
const GOALS: Partial<Record<'rate' | 'create' | 'list' | 'listLate' | 'probe', number>> = {
  rate: 700,
  create: 120,
  list: 10,
  listLate: 40,
  probe: 40,
}

/** 32 clients create in one account, 4 list 100 plants of another, on a disk whose syncs take their time. */
export const slowDisk =
  (delay: number): Scenario =>
  async (progress, { share }) => {
    const what = `32 POST, 4 GET of another account, a sync takes ${delay} ms`
    const folder = mkdtempSync(path.join(tmpdir(), 'plant-store-bench-'))
    const library = path.join(folder, 'slow-disk.so')
    const setting = path.join(folder, 'delay')
    try {
      execFileSync('cc', ['-shared', '-fPIC', '-o', library, SOURCE, '-ldl'], { stdio: 'pipe' })
    } catch {
      return [{ what, name: 'plant-store', value: '-', unit: '', detail: 'skipped: there is no C compiler `cc`' }]
    }
    writeFileSync(setting, String(delay))
    progress(what)
    const database = await createDatabase(PLANTS, progress)
    const server = await startContender('plant-store', database.token, {
      DATABASE_URL: database.url,
      ADMIN_PORT: '0',
      LD_PRELOAD: library,
      SYNC_DELAY_FILE: setting,
    })
    try {
      const seconds = SECONDS * share
      const load = { port: server.port, seconds, requests: seconds * 1_000, firstId: 1_000_000 }
      const loads = Promise.all([
        runLoad({ ...load, kind: 'create', connections: 32, tokens: [database.otherToken] }),
        runLoad({ ...load, kind: 'list', connections: 4, tokens: [database.token] }),
      ])
      const probed = await probe(`${server.adminUrl}/livez`, loads)
      const [created, listed] = await loads
      const rate = created.requests / created.seconds
      const goals = delay === 20 ? GOALS : {}
      return [
        judge({ what, value: rate, digits: 1, unit: 'POST/s', min: goals.rate }),
        judge({ what: '  POST, p99', value: created.p99, digits: 1, unit: 'ms', max: goals.create }),
        judge({ what: '  GET, p50', value: listed.p50, digits: 1, unit: 'ms', max: goals.list }),
        judge({ what: '  GET, p99', value: listed.p99, digits: 1, unit: 'ms', max: goals.listLate }),
        judge({ what: '  /livez, p99', value: probed, digits: 1, unit: 'ms', max: goals.probe }),
      ]
    } finally {
      await server.stop()
      await database.remove()
      rmSync(folder, { recursive: true })
    }
  }

/** Requests a URL again and again while something runs; returns the 99th percentile of the times. */
async function probe(url: string, running: Promise<unknown>): Promise<number> {
  const times: number[] = []
  let ended = false
  const end = () => {
    ended = true
  }
  running.then(end, end)
  for (; !ended; await sleep(PROBE_INTERVAL)) {
    const begin = performance.now()
    await (await fetch(url)).text()
    times.push(performance.now() - begin)
  }
  return times.sort((one, other) => one - other)[Math.floor(times.length * 0.99)] ?? Number.NaN
}
