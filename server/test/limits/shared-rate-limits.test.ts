import type { RequestCounts } from '@plant-store/prisma'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { until } from '../../../test/helpers/until.ts'
import { createSharedCounter } from '../../src/limits/shared-counter.ts'

const HOUR = 3_600
const PER_HOUR = { requests: 4, seconds: HOUR }

let postgresql: PostgresqlServer
let databases = 0
beforeAll(async () => {
  postgresql = await startPostgresql()
})
afterAll(() => postgresql.remove())

/** Starts two servers of one database. */
async function startServers(
  settings: Parameters<typeof startTestServer>[0],
): Promise<{ first: TestServer; second: TestServer; execute(sql: string): Promise<unknown> } & AsyncDisposable> {
  const databaseUrl = postgresql.url(`limits_${databases++}`)
  const first = await startTestServer({ databaseUrl, rateLimit: PER_HOUR, ...settings })
  const second = await startTestServer({ databaseUrl, rateLimit: PER_HOUR, ...settings })
  const client = new pg.Client(databaseUrl)
  await client.connect()
  return {
    first,
    second,
    execute: (sql) => client.query(sql),
    async [Symbol.asyncDispose]() {
      await client.end()
      await first.close()
      await second.close()
    },
  }
}

describe('two servers of a PostgreSQL database', () => {
  test('count the requests of a token together', async () => {
    await using servers = await startServers({})
    const { first, second } = servers
    const { token } = first
    const responses = []
    for (const server of [first, second, second, first, first, second]) {
      responses.push(await server.call('/plants', { token }))
    }
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429, 429])
    const remaining = responses.map(({ headers }) => /r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
    expect(remaining).toEqual(['3', '2', '1', '0', '0', '0'])
    expect(Number(responses[5]?.headers.get('retry-after'))).toBeGreaterThan(HOUR - 60)
    expect((await first.call('/plants', { token: second.token })).status).toBe(200)
  })

  test('allow exactly the limit to requests that arrive at the same time', async () => {
    await using servers = await startServers({ rateLimit: { requests: 50, seconds: HOUR } })
    const { first, second } = servers
    const calls = Array.from({ length: 200 }, (_, index) =>
      (index % 2 === 0 ? first : second).call('/plants', { token: first.token }),
    )
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(50)
    expect(statuses.filter((status) => status === 429)).toHaveLength(150)
  })

  test('with RATE_LIMIT_SHARED=off each counts for itself', async () => {
    await using servers = await startServers({ rateLimit: { requests: 1, seconds: HOUR }, rateLimitShared: false })
    const { first, second } = servers
    const statuses = []
    for (const server of [first, second, first, second]) {
      statuses.push((await server.call('/plants', { token: first.token })).status)
    }
    expect(statuses).toEqual([200, 200, 429, 429])
  })

  test('count alone while the database cannot count, fail no request, and then count together again', async () => {
    await using servers = await startServers({})
    const { first, second, execute } = servers
    const list = async (server: TestServer) => (await server.call('/plants', { token: first.token })).status
    await execute('ALTER TABLE "RequestCount" RENAME TO "Moved"')
    for (let request = 0; request < 4; request++) expect(await list(first)).toBe(200)
    expect(await list(first)).toBe(429)
    expect(await list(second)).toBe(200)

    await execute('ALTER TABLE "Moved" RENAME TO "RequestCount"')
    // The rest of the shared limit, which no request has used yet.
    await until(async () => (await list(first)) === 200)
  })
})

describe('a shared counter', () => {
  const alone = async () => ({ count: 1_000, endsIn: 1 })

  test('counts the requests of a turn, and those during a statement, with one statement each', async () => {
    const statements: [string, number][][] = []
    const total = new Map<string, number>()
    const counts: RequestCounts = {
      async add(requests) {
        statements.push([...requests])
        for (const [key, count] of requests) total.set(key, (total.get(key) ?? 0) + count)
        return [...requests].map(([key]) => ({ key, count: total.get(key) ?? 0, endsIn: 5 }))
      },
    }
    const count = createSharedCounter({ counts, window: 10, countAlone: alone })
    const counted = await Promise.all(['a', 'b', 'a', 'a'].map(count))
    expect(counted.map((each) => each.count)).toEqual([1, 1, 2, 3])
    expect(statements).toEqual([
      [
        ['a', 3],
        ['b', 1],
      ],
    ])
  })

  test('a statement without a response delays requests once; the next ones wait for nothing', async () => {
    let respond: (() => void) | undefined
    let statements = 0
    const counts: RequestCounts = {
      add: () => {
        statements++
        return new Promise((resolve) => {
          respond = () => resolve([{ key: 'a', count: 1, endsIn: 1 }])
        })
      },
    }
    const count = createSharedCounter({ counts, window: 10, countAlone: alone, patience: 20 })
    expect(await count('a')).toEqual(await alone())
    for (let request = 0; request < 100; request++) expect(await count('a')).toEqual(await alone())
    expect(statements).toBe(1)
    respond?.()
    await until(() => {
      void count('a')
      return statements === 2
    })
  })

  test('a request that was counted alone is not counted again when its statement fails later', async () => {
    let fail: ((error: Error) => void) | undefined
    const counts: RequestCounts = {
      add: () =>
        new Promise((_, reject) => {
          fail = reject
        }),
    }
    let countedAlone = 0
    const countAlone = async () => ({ count: ++countedAlone, endsIn: 1 })
    const count = createSharedCounter({ counts, window: 10, countAlone, patience: 10 })
    await count('a')
    fail?.(new Error('the connection broke'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(countedAlone).toBe(1)
  })
})
