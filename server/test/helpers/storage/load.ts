import { expect } from 'vitest'
import type { TestServer } from '../../../../test/helpers/server/start-test-server.ts'
import { type PlantResponse, plantOf, startWriting } from '../../../../test/helpers/server/start-writing.ts'

const WRITERS = 8
/** The time until a failure of storage shows or ends, in milliseconds: much more than is usual. */
export const PATIENCE = { timeout: 60_000, interval: 10 }

/** Writers whose responses tests look at. */
export interface Load {
  /** Returns how many plants are stored. */
  stored(): number
  /** Waits until many more plants are stored than now. */
  progress(): Promise<void>
  /** Waits until many plants were rejected. */
  rejection(): Promise<void>
  rejected(): PlantResponse[]
  /** Waits for the requests in flight. */
  stop(): Promise<void>
  /** Expects that every plant with a 200 is listed once, and that nothing is listed that was not sent. */
  expectConsistent(): Promise<void>
}

/** Starts clients that create plants all the time. */
export function startLoad(server: TestServer): Load {
  const { responses, stop } = startWriting({ url: server.url, token: server.token, writers: WRITERS })
  const stored = () => responses.filter(({ status }) => status === 200)
  const rejected = () => responses.filter(({ status }) => status !== 200)
  return {
    stored: () => stored().length,
    async progress() {
      const before = stored().length
      await expect.poll(() => stored().length, PATIENCE).toBeGreaterThan(before + 100)
    },
    async rejection() {
      await expect.poll(() => rejected().length, PATIENCE).toBeGreaterThan(WRITERS)
    },
    rejected,
    stop,
    async expectConsistent() {
      const listed = ((await (await server.call('/plants')).json()) as object[]).map((plant) => JSON.stringify(plant))
      const sent = new Map(responses.map(({ id }) => [JSON.stringify(plantOf(id)), id]))
      const present = new Set(listed.map((plant) => sent.get(plant)))
      expect(present.has(undefined)).toBe(false)
      expect(present.size).toBe(listed.length)
      expect(stored().filter(({ id }) => !present.has(id))).toEqual([])
    },
  }
}

/** Reads what `/readyz` responds. */
export async function readiness({ adminUrl }: { adminUrl: string | undefined }): Promise<string> {
  const response = await fetch(`${adminUrl}/readyz`)
  return `${response.status} ${(await response.text()).trim()}`
}

/** Expects the response to a request while PostgreSQL is unavailable. */
export function expectUnavailable(status: number | undefined, retryAfter: string | null, body: string): void {
  const message = expect.stringMatching(/^The database is .* Retry/)
  expect([status, JSON.parse(body)]).toEqual([503, { error: 50300, message }])
  expect(retryAfter).toMatch(/^[15]$/)
}
