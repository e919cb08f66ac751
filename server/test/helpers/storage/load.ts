import { expect } from 'vitest'
import type { TestServer } from '../../../../test/helpers/server/start-test-server.ts'
import { type PlantResponse, plantOf, startWriting } from '../../../../test/helpers/server/start-writing.ts'

const WRITERS = 8

/** Writers whose responses tests look at. */
export interface Load {
  /** Returns how many plants are stored. */
  stored(): number
  /** Waits until many more plants are stored than now. */
  progress(): Promise<void>
  /** Waits until many more plants are rejected than now. */
  rejection(): Promise<void>
  rejected(): PlantResponse[]
  /**
   * Does something while they write, stops them, and expects that every plant with a 200 is listed once, and that nothing is
   * listed that was not sent.
   *
   * @param stop what else to stop
   */
  during(action: () => Promise<unknown>, stop?: () => Promise<unknown>): Promise<void>
}

/** Starts clients that create plants of one account all the time, at one server or several on one database. */
export function startLoad(server: TestServer, ...others: TestServer[]): Load {
  const writings = [server, ...others].map(({ url }, index) =>
    startWriting({ url, token: server.token, writers: WRITERS, firstId: index * 1_000_000 }),
  )
  const responses = () => writings.flatMap((writing) => writing.responses)
  const stored = () => responses().filter(({ status }) => status === 200)
  const rejected = () => responses().filter(({ status }) => status !== 200)
  return {
    stored: () => stored().length,
    async progress() {
      const before = stored().length
      await expect.poll(() => stored().length).toBeGreaterThan(before + 100)
    },
    async rejection() {
      const before = rejected().length
      await expect.poll(() => rejected().length).toBeGreaterThan(before + writings.length * WRITERS)
    },
    rejected,
    async during(action, stop) {
      try {
        await action()
      } finally {
        await Promise.all([...writings.map((writing) => writing.stop()), stop?.()])
      }
      await expectListed(server, responses())
    },
  }
}

/** Expects that every plant with a 200 is listed once, and that nothing is listed that was not sent. Returns the ids. */
export async function expectListed(
  { url, token }: Pick<TestServer, 'url' | 'token'>,
  responses: readonly PlantResponse[],
): Promise<(number | undefined)[]> {
  const list = await fetch(`${url}/plants`, { headers: { authorization: `Bearer ${token}` } })
  const sent = new Map(responses.map(({ id }) => [JSON.stringify(plantOf(id)), id]))
  const ids = ((await list.json()) as object[]).map((plant) => sent.get(JSON.stringify(plant)))
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
export async function expectReadiness(
  server: { adminUrl: string | undefined },
  expected: string | RegExp,
): Promise<void> {
  await expect
    .poll(() => readiness(server))
    .toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected))
}

/** Expects the response to a request while PostgreSQL is unavailable. */
export function expectUnavailable(status: number | undefined, retryAfter: string | null, body: string): void {
  const message = expect.stringMatching(/^The database is .* Retry/)
  expect([status, JSON.parse(body)]).toEqual([503, { error: 50300, message }])
  expect(retryAfter).toMatch(/^[15]$/)
}
