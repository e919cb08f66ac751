/** The span of the commit, with SQLite and PostgreSQL. */
import { expect, test, vi } from 'vitest'
import { engine, newDatabase, runSql } from '../../../test/helpers/database/databases.ts'
import { startTraced } from '../helpers/telemetry/start-traced.ts'

// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

test('a failure of the database is an error with its status, and the commit has its own', async () => {
  const DATABASE_URL = await newDatabase()
  const { create, end } = await startTraced({ DATABASE_URL })
  await runSql(DATABASE_URL, 'ALTER TABLE "Plant" RENAME TO "Gone"')
  expect((await create(1)).status).toBe(500)
  const spans = await end()
  const request = spans.find(({ kind }) => kind === 2)
  const commit = spans.find(({ kind }) => kind === 3)
  expect(request).toMatchObject({
    name: 'POST /plants',
    attributes: { 'http.response.status_code': 500, 'error.type': '500' },
    status: { code: 2 },
  })
  expect(commit).toMatchObject({ name: 'commit plants', parentSpanId: request?.spanId, status: { code: 2 } })
  expect(commit?.attributes['error.type']).toMatch(/./)
})

test('the commit of a plant is a span in the trace of each request that it serves', async () => {
  const { create, end } = await startTraced()
  const total = 40
  await Promise.all(Array.from({ length: total }, (_, id) => create(id)))
  const spans = await end()
  const requests = spans.filter(({ name }) => name === 'POST /plants')
  const commits = spans.filter(({ name }) => name === 'commit plants')
  expect([requests.length, commits.length]).toEqual([total, total])
  const served = new Map<string, number>()
  for (const commit of commits) {
    const request = requests.find(({ spanId }) => spanId === commit.parentSpanId)
    expect(commit.traceId).toBe(request?.traceId)
    const [queued] = request?.events ?? []
    expect(queued?.name).toBe('write queued')
    // Each span has a clock of its own, set when it begins.
    const slack = 1_000_000_000n
    expect(BigInt(commit.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(queued?.timeUnixNano ?? 0) - slack)
    expect(BigInt(commit.endTimeUnixNano)).toBeGreaterThan(BigInt(commit.startTimeUnixNano))
    expect(BigInt(commit.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(request?.endTimeUnixNano ?? 0) + slack)
    expect(commit.attributes).toMatchObject({
      'db.system.name': engine,
      'db.operation.name': 'INSERT',
      'db.collection.name': 'Plant',
    })
    const size = Number(commit.attributes['db.operation.batch.size'] ?? 1)
    served.set(`${size}`, (served.get(`${size}`) ?? 0) + 1)
  }
  // A commit of so many plants has as many spans.
  for (const [size, count] of served) expect(count % Number(size)).toBe(0)
})
