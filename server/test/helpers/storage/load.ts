import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type PlantResponse, plantOf, startWriting } from '../../../../test/helpers/server/start-writing.ts'
import type { Target } from '../wire/wire.ts'

const WRITERS = 8

/**
 * Starts clients that create plants of one account all the time, at one server or several on one database, and others that
 * list them: each list must have what was stored before its request, in the order of every other list.
 */
export function startLoad(...servers: [Target, ...Target[]]) {
  const [server] = servers
  const writings = servers.map(({ url }, index) =>
    startWriting({ url, token: server.token, writers: WRITERS, firstId: index * 1_000_000 }),
  )
  const responses = () => writings.flatMap((writing) => writing.responses)
  const stored = () => responses().filter(({ status }) => status === 200).length
  const rejected = () => responses().filter(({ status }) => status !== 200)
  const reading = { stopped: false, rejected: 0, longest: '' }

  async function read(url: string): Promise<void> {
    while (!reading.stopped) {
      const before = stored()
      const { body, ...response } = await list({ url, token: server.token })
      if (response.status !== 200) {
        reading.rejected++
        expectUnavailable({ ...response, body })
      } else if (body !== '') {
        expect(JSON.parse(body).length).toBeGreaterThanOrEqual(before)
        expectPrefix(body)
      }
      await sleep(5)
    }
  }

  /** Expects that a list goes on as the longest one so far, or is the beginning of it. */
  function expectPrefix(body: string): void {
    const open = body.slice(0, -1)
    const [longer, shorter] = open.length > reading.longest.length ? [open, reading.longest] : [reading.longest, open]
    expect(longer.startsWith(shorter)).toBe(true)
    reading.longest = longer
  }

  const readers = Promise.all([server, ...servers].map(({ url }) => read(url)))
  return {
    /** Returns how many plants are stored. */
    stored,
    /** Waits until many more plants are stored than now. */
    async progress(): Promise<void> {
      const before = stored()
      await expect.poll(stored).toBeGreaterThan(before + 100)
    },
    /** Waits until many more plants are rejected than now. */
    async rejection(): Promise<void> {
      const before = rejected().length
      await expect.poll(() => rejected().length).toBeGreaterThan(before + servers.length * WRITERS)
    },
    /** Returns how many plants, and how many lists, got another status than 200. */
    rejected: () => ({ plants: rejected().length, lists: reading.rejected }),
    /**
     * Does something while they write and read, stops them, and expects that every plant with a 200 is listed once, that
     * nothing is listed that was not sent, and that each other response was a 503.
     */
    async during(action: () => Promise<unknown>): Promise<void> {
      try {
        await action()
      } finally {
        reading.stopped = true
        await Promise.all([...writings.map((writing) => writing.stop()), readers])
      }
      rejected().forEach(expectUnavailable)
      await expectListed(server, responses())
      for (const { url } of servers) expectPrefix((await list({ url, token: server.token })).body)
    },
  }
}

/** Lists all plants. The body is empty if the connection broke in the middle of it. */
async function list({ url, token }: Target): Promise<Omit<PlantResponse, 'id'>> {
  const response = await fetch(`${url}/plants`, { headers: { authorization: `Bearer ${token}` } })
  const body = await response.text().catch(() => '')
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body }
}

/** Expects that every plant with a 200 is listed once, and that nothing is listed that was not sent. Returns the ids. */
export async function expectListed(
  server: Target,
  responses: readonly PlantResponse[],
): Promise<(number | undefined)[]> {
  const sent = new Map(responses.map(({ id }) => [JSON.stringify(plantOf(id)), id]))
  const { body } = await list(server)
  const ids = (JSON.parse(body) as object[]).map((plant) => sent.get(JSON.stringify(plant)))
  const present = new Set(ids)
  expect(present.has(undefined)).toBe(false)
  expect(present.size).toBe(ids.length)
  expect(responses.filter(({ id, status }) => status === 200 && !present.has(id))).toEqual([])
  return ids
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
export function expectUnavailable({ status, retryAfter, body }: Omit<PlantResponse, 'id'>): void {
  const message = expect.stringMatching(/^The database is .* Retry/)
  expect([status, JSON.parse(body)]).toEqual([503, { error: 50300, message }])
  expect(retryAfter).toMatch(/^[15]$/)
}
