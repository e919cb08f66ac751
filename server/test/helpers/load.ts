import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { query } from '../../../test/helpers/database/databases.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { freePort } from '../../../test/helpers/programs.ts'
import { callPlants, createPlant, type PlantsResponse, plantOf } from '../../../test/helpers/server/call-plants.ts'
import { startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { findViolations, type Operation } from './history.ts'
import type { Target } from './wire.ts'

/** How many clients of each target create plants. */
const WRITERS = isLong ? 8 : 2
const PAGE_SIZE = isLong ? 50 : 10
/** How many plants are progress. */
const PROGRESS = isLong ? 100 : 30
/** The time a client waits after a rejected request or a list, in milliseconds. */
const PAUSE = 10

/** A server, and a token of an account there. */
type LoadTarget = Target & { account?: string }

/**
 * Starts clients that create plants all the time, and others that list them, whole and in pages. What they did and saw
 * is recorded, and must be what a service that keeps its promises does ({@link findViolations}).
 */
export function startLoad(...targets: [LoadTarget, ...LoadTarget[]]) {
  const history: Operation[] = []
  const rejected = { plants: 0, lists: 0 }
  let stored = 0
  let stopped = false
  let events = 0
  let plants = 0

  /** Records what a client does: `run` returns its outcome, and the plants that it sent or was shown. */
  async function record(
    { account = 'alice' }: LoadTarget,
    kind: Operation['kind'],
    run: () => Promise<Pick<Operation, 'outcome' | 'plants'>>,
  ): Promise<Operation['outcome']> {
    const begin = ++events
    const { outcome, plants } = await run()
    history.push({ kind, account, begin, end: ++events, outcome, plants })
    return outcome
  }

  /** Creates plants; every tenth has the id of one that is stored, so that it is rejected. */
  async function write(target: LoadTarget): Promise<void> {
    let taken: number | undefined
    while (!stopped) {
      const plant = plants++
      const isTaken = taken !== undefined && plant % 10 === 0
      const outcome = await record(target, 'create', async () => {
        const response = await createPlant(target.url, target.token, isTaken ? (taken as number) : plant, plant)
        return { outcome: judge(response, isTaken), plants: [plant] }
      })
      if (outcome === 'confirmed') taken = plant
      if (outcome === 'unknown') await sleep(PAUSE)
    }
  }

  function judge(response: PlantsResponse, isTaken: boolean): Operation['outcome'] {
    if (response.status === undefined) return 'unknown'
    if (isTaken && response.status === 400) return 'rejected'
    if (!isTaken && response.status === 200) {
      stored++
      return 'confirmed'
    }
    rejected.plants++
    expectUnavailable(response)
    return 'unknown'
  }

  async function read(target: LoadTarget, query: string): Promise<void> {
    while (!stopped) {
      await record(target, 'list', () => list(target, query))
      await sleep(PAUSE)
    }
  }

  /** Lists plants, to the last page; `unknown` if a page was rejected or cut. */
  async function list(target: LoadTarget, query: string): Promise<Pick<Operation, 'outcome' | 'plants'>> {
    const listed: (number | undefined)[] = []
    for (let next: string | undefined = query; next !== undefined; ) {
      const response = await callPlants(target, { query: next })
      const { status, body, link } = response
      if (status !== undefined && status !== 200) {
        rejected.lists++
        expectUnavailable(response)
      }
      if (status !== 200 || body === '') return { outcome: 'unknown', plants: [] }
      listed.push(...(JSON.parse(body) as object[]).map(numberOf))
      next = /<([^>]+)>; rel="next"/.exec(link ?? '')?.[1]
    }
    return { outcome: 'confirmed', plants: listed }
  }

  const clients = targets.map((target) =>
    Promise.all([
      ...Array.from({ length: WRITERS }, () => write(target)),
      read(target, ''),
      read(target, `?limit=${PAGE_SIZE}`),
    ]),
  )
  // A failure is that of `during`, which waits for all of them.
  for (const running of clients) running.catch(() => {})
  return {
    /** Returns how many plants are stored. */
    stored: () => stored,
    /** Waits until many more plants are stored than now. */
    async progress(): Promise<void> {
      const before = stored
      await expect.poll(() => stored).toBeGreaterThan(before + PROGRESS)
    },
    /** Waits until many more plants are rejected than now. */
    async rejection(): Promise<void> {
      const before = rejected.plants
      await expect.poll(() => rejected.plants).toBeGreaterThan(before + targets.length * WRITERS)
    },
    /** Returns how many plants, and how many lists, got a 503. */
    rejected: () => ({ ...rejected }),
    /**
     * Does something while they write and read, stops them, lists everything once more, and expects
     * a history without a violation.
     */
    async during(action: () => Promise<unknown>): Promise<void> {
      try {
        await action()
      } finally {
        stopped = true
        await Promise.all(clients)
      }
      for (const target of targets) await record(target, 'list', () => list(target, ''))
      expect(findViolations(history).slice(0, 10)).toEqual([])
    },
  }
}

/** Starts a server in a process of its own that can be ended and started again under load, on the same ports. */
export async function startKillable(databaseUrl: string) {
  const settings = { DATABASE_URL: databaseUrl, PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) }
  let server = await startServerProcess(settings)
  return {
    ...server,
    /** Ends it with a signal, and starts it again. Returns what it has printed until then. */
    async restart(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<string> {
      expect(await server.end(signal)).toBe(signal === 'SIGKILL' ? null : 0)
      const { output } = server
      server = await startServerProcess(settings)
      return output()
    },
    end: () => server.end(),
  }
}

/** Returns the number of a plant; undefined if nobody sends it. */
function numberOf(plant: object): number | undefined {
  const number = Number(/^plant (\d+) /.exec((plant as { name: string }).name)?.[1])
  return JSON.stringify(plant) === JSON.stringify(plantOf(number)) ? number : undefined
}

/** Reads what `/readyz` responds. */
export async function readiness({ adminUrl }: { adminUrl: string | undefined }): Promise<string> {
  const response = await fetch(`${adminUrl}/readyz`)
  return `${response.status} ${(await response.text()).trim()}`
}

/** Waits until `/readyz` responds this. */
export async function expectReadiness(server: { adminUrl: string | undefined }, expected: string | RegExp) {
  await expect
    .poll(() => readiness(server))
    .toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected))
}

/** Expects the response to a request while the database is unavailable. */
export function expectUnavailable({ status, retryAfter, body }: Omit<PlantsResponse, 'link'>): void {
  const message = expect.stringMatching(/^The database is .* Retry/)
  expect([status, JSON.parse(body)]).toEqual([503, { error: 50300, message }])
  expect(retryAfter).toMatch(/^[15]$/)
}

/** Expects that SQLite finds nothing wrong with a file, which a server may have open. */
export async function expectIntegrity(file: string): Promise<void> {
  expect(await query(`file:${file}`, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
}
