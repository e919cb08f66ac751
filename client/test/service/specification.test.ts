/** The specification, section by section, with the SDK and the real service. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codePoint } from '../../../test/helpers/code-points.ts'
import { query } from '../../../test/helpers/database/databases.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { ApiError, createPlantStoreClient, UsageError } from '../../src/index.ts'
import { newAccount } from '../helpers/new-account.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

async function failureOf(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ApiError)
  return error as ApiError
}

describe('1. What the service does', () => {
  test('it keeps plants across a restart', async () => {
    await using first = await startTestServer()
    const { token } = first
    await createPlantStoreClient({ baseUrl: first.url, token }).createPlant({ id: 1, name: 'Monstera' })
    await using second = await startTestServer({ databaseUrl: first.databaseUrl })
    expect(await createPlantStoreClient({ baseUrl: second.url, token }).getPlants()).toEqual([{ name: 'Monstera' }])
  })

  test('all operations require a bearer token', async () => {
    const unauthorized = createPlantStoreClient({ baseUrl: server.url, token: 'unknown' })
    for (const call of [unauthorized.getPlants(), unauthorized.createPlant({ id: 1, name: 'Ficus' })]) {
      expect(await failureOf(call)).toMatchObject({ status: 401, code: 40102 })
    }
  })
})

describe('2. Resources and their fields', () => {
  test('an id is any int64, and different ids are different plants', async () => {
    const client = await newAccount(server)
    const names: string[] = []
    const edge = fc.constantFrom(0n, 2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n))
    const near = fc.tuple(edge, fc.bigInt({ min: -2n, max: 2n })).map(([base, distance]) => base + distance)
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    const seen = new Set<bigint>()
    await fc.assert(
      fc.asyncProperty(fc.oneof(near, int64), async (id) => {
        const created = client.createPlant({ id, name: `plant ${id}` })
        if (id < -(2n ** 63n) || id > 2n ** 63n - 1n) {
          await expect(created).rejects.toBeInstanceOf(UsageError)
          return
        }
        await created
        if (!seen.has(id)) names.push(`plant ${id}`)
        seen.add(id)
      }),
      { numRuns: 100 },
    )
    expect((await client.getPlants()).map(({ name }) => name)).toEqual(names)
  })

  test('ids are the same in the SDK and in the database, and each account has its own', async () => {
    const ids = [9007199254740992n, 9007199254740993n, 9223372036854775807n, -9223372036854775808n]
    const clients = [await newAccount(server), await newAccount(server)]
    for (const client of clients) {
      for (const id of ids) await client.createPlant({ id, name: `exactly ${id}` })
    }
    const rows = await query<{ id: string; name: string }>(
      server.databaseUrl,
      `SELECT "id", "name" FROM "Plant" WHERE "name" LIKE 'exactly%' ORDER BY "seq"`,
    )
    expect(rows.map(({ id }) => id)).toEqual([...ids, ...ids].map(String))
    expect(rows.map(({ name, id }) => name === `exactly ${id}`)).not.toContain(false)
  })

  test('any Unicode text is listed as it was sent, code point for code point', async () => {
    const client = await newAccount(server)
    const text = fc.string({ unit: codePoint, maxLength: 40 })
    const sent: { name: string; tag: string }[] = []
    await fc.assert(
      fc.asyncProperty(text, text, async (name, tag) => {
        await client.createPlant({ id: sent.length, name, tag })
        sent.push({ name, tag })
      }),
      { numRuns: 100 },
    )
    expect(await client.getPlants()).toEqual(sent)
  })
})
