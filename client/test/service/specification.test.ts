/** The specification, section by section, with the SDK and the real service. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../../test/helpers/database/databases.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { ApiError, createPlantStoreClient, type NewPlant, RequestError } from '../../src/index.ts'
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
  test('it keeps plants: a client adds one and lists it', async () => {
    const client = await newAccount(server)
    await client.createPlant({ id: 1, name: 'Monstera', tag: 'aroid' })
    expect(await client.getPlants()).toEqual([{ name: 'Monstera', tag: 'aroid' }])
  })

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
  test('a Plant has a name and an optional tag, but no id', async () => {
    const client = await newAccount(server)
    expect(await client.createPlant({ id: 1, name: 'Ficus' })).toStrictEqual({ name: 'Ficus' })
    expect(await client.createPlant({ id: 2, name: 'Ficus', tag: 'fig' })).toStrictEqual({ name: 'Ficus', tag: 'fig' })
    expect(await client.getPlants()).toStrictEqual([{ name: 'Ficus' }, { name: 'Ficus', tag: 'fig' }])
  })

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
          await expect(created).rejects.toBeInstanceOf(RequestError)
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
    const text = fc.string({ unit: 'binary', maxLength: 40 }).filter((value) => !value.includes('\0'))
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

describe('4. Endpoints', () => {
  test('POST /plants responds to a valid NewPlant with 200 and a Plant', async () => {
    const client = await newAccount(server)
    const { status, data, requestId } = await client.raw.createPlant({ id: 1, name: 'Ficus', tag: 'fig' })
    expect([status, data]).toEqual([200, { name: 'Ficus', tag: 'fig' }])
    expect(requestId).toMatch(/^[\w.-]+$/)
  })

  test('a 400 has an Error with error and message', async () => {
    const client = await newAccount(server)
    await client.createPlant({ id: 1, name: 'Ficus' })
    expect(await failureOf(client.createPlant({ id: 1, name: 'Monstera' }))).toMatchObject({
      status: 400,
      code: 40003,
      message: expect.stringContaining('id: is taken'),
    })
  })

  test('repeating a request gets a 200 and adds nothing', async () => {
    const client = await newAccount(server)
    for (let round = 0; round < 3; round++) {
      expect(await client.createPlant({ id: 1, name: 'Ficus' })).toEqual({ name: 'Ficus' })
    }
    expect(await client.getPlants()).toHaveLength(1)
  })

  test('GET /plants lists only the plants of the account, in order of creation', async () => {
    const [one, other] = [await newAccount(server), await newAccount(server)]
    for (const id of [3, 1, 2]) await one.createPlant({ id, name: `plant ${id}` })
    await other.createPlant({ id: 1, name: 'of another account' })
    expect((await one.getPlants()).map(({ name }) => name)).toEqual(['plant 3', 'plant 1', 'plant 2'])
    expect(await other.getPlants()).toEqual([{ name: 'of another account' }])
  })

  test('pages, fetched one by one or in a loop, add up to the whole list', async () => {
    const client = await newAccount(server)
    const plants: NewPlant[] = Array.from({ length: 7 }, (_, id) => ({ id, name: `plant ${id}` }))
    for (const plant of plants) await client.createPlant(plant)
    const { data, nextCursor } = await client.raw.getPlants({ limit: 3 })
    expect(data).toHaveLength(3)
    expect((await client.raw.getPlants({ limit: 4, cursor: nextCursor })).nextCursor).toBeUndefined()
    const names: string[] = []
    for await (const { name } of client.iterate.getPlants({ limit: 2 })) names.push(name)
    expect(names).toEqual(plants.map(({ name }) => name))
  })
})

describe('5. Authentication', () => {
  test('a token that has expired is rejected', async () => {
    const { token: expired } = await server.createToken({ expiresAt: new Date(Date.now() - 1000) })
    const client = createPlantStoreClient({ baseUrl: server.url, token: expired })
    expect(await failureOf(client.getPlants())).toMatchObject({ status: 401, code: 40103 })
  })

  test('a token with only the scope read can list but not create', async () => {
    const { token } = await server.createToken({ scopes: ['read'] })
    const client = createPlantStoreClient({ baseUrl: server.url, token })
    expect(await failureOf(client.createPlant({ id: 1, name: 'Ficus' }))).toMatchObject({ status: 403, code: 40301 })
    expect(await client.getPlants()).toEqual([])
  })
})

describe('7. Errors', () => {
  test('safe returns errors as values', async () => {
    const client = await newAccount(server)
    expect(await client.safe.createPlant({ id: 1, name: 'Ficus' })).toEqual({ ok: true, data: { name: 'Ficus' } })
    const { ok, error } = await client.safe.createPlant({ id: 1, name: 'Monstera' })
    expect(ok).toBe(false)
    expect(error).toMatchObject({ kind: 'api', status: 400, code: 40003, attempts: 1 })
  })
})
