/** One set of tests for the real service and for the fake of `@plant-store/client/testing`. */
import { randomBytes, randomUUID } from 'node:crypto'
import { contract, errorCatalogue, errorMessages, statusOf } from '@plant-store/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AnyRequest, anyRequest } from '../../../test/helpers/any-request.ts'
import { asServer, newDatabase } from '../../../test/helpers/database/databases.ts'
import { runs } from '../../../test/helpers/long-tests.ts'
import { FICUS, operations, parse, type RequestCase, stringify } from '../../../test/helpers/operations.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import type * as sdk from '../../src/index.ts'
import { createPlantStoreClient } from '../../src/index.ts'
import { createFakePlantStore, type FakeToken } from '../../src/testing/index.ts'

/** A plant store, the real one or the fake. A token is that of a new account, unless it says otherwise. */
interface ServiceUnderTest {
  readonly url: string
  readonly fetch: typeof fetch
  createToken(token?: Partial<FakeToken>): Promise<string>
}

/** On PostgreSQL, it has the rights of production. */
async function startRealService(): Promise<ServiceUnderTest> {
  const { url, createToken } = await startTestServer({ databaseUrl: await asServer(await newDatabase()) })
  const create = (token: object = {}) => createToken({ account: randomUUID(), ...token })
  return { url, fetch, createToken: async (token) => (await create(token)).token }
}

async function startFake(): Promise<ServiceUnderTest> {
  const { baseUrl: url, fetch, createToken } = createFakePlantStore()
  const create: ServiceUnderTest['createToken'] = async (token) => createToken({ account: randomUUID(), ...token })
  return { url, fetch: fetch as ServiceUnderTest['fetch'], createToken: create }
}

/** Returns what arrives of a value as JSON, with a bigint for each integer. */
const exact = (value: unknown) => parse(stringify(value))

/** Longer than a row of an index in PostgreSQL, and not compressible to less: an index on the text would reject it. */
const text = randomBytes(40_000).toString('base64').slice(0, 51_186)
/** A plant of 100 KiB. */
const largest = `{"id":17,"name":"${text}","tag":"${text}"}`

/** The requests of each operation, and what is none or too large. */
const cases: readonly RequestCase[] = [
  ...operations.flatMap((operation) => operation.requests),
  ['another path', 'GET /plant', '', 40400],
  ['another method', 'SEARCH /plants', '', 40500],
  ['a body of 100 KiB', 'POST /plants', largest, { name: text, tag: text }],
  ['a body that is larger', 'POST /plants', `${largest} `, 41300],
  ['a larger body that is not JSON', 'POST /plants', 'é'.repeat(51_201), 41300],
]
const requests = cases.map(([what, request, body, response, plants = [FICUS]]) => {
  return [what, request, body, response, plants] as const
})

const rejected = cases.filter(([, , , response]) => typeof response === 'number')

/** Sends a request, and reads the response, whose body is JSON, unless the status is 204. */
async function send({ url, fetch }: ServiceUnderTest, token: string, request: string, body: string) {
  const [method = '', path = ''] = request.split(' ')
  const authorization = token && `Bearer ${token}`
  const headers = { authorization, ...(body && { 'content-type': 'application/json' }) }
  const response = await fetch(url + path, { method, headers, ...(body && { body }) })
  const text = await response.text()
  expect(response.headers.get('content-type')).toBe(text ? 'application/json; charset=utf-8' : null)
  expect(response.headers.get('x-request-id')).toMatch(/^[\w.-]{1,64}$/)
  const [allow, link] = [response.headers.get('allow'), response.headers.get('link')]
  return { status: response.status, body: parse(text), ...(allow && { allow }), link }
}

/** The pages of a list, and how many are read at most. */
interface PagesRequest {
  readonly token: string
  readonly target: string
  readonly limit: number
  readonly maxPages: number
}

/** Reads pages as their links lead. */
async function readPages(service: ServiceUnderTest, { token, target, limit, maxPages }: PagesRequest) {
  const pages: unknown[] = []
  let url = new URL(target, service.url)
  url.searchParams.set('limit', String(limit))
  while (pages.length < maxPages) {
    const { body, link } = await send(service, token, `GET ${url.pathname}${url.search}`, '')
    pages.push(body)
    if (link === null) break
    url = new URL(link.replace(/^<(.*)>; rel="next"$/, '$1'), url)
  }
  return pages
}

test('the service responds as the fake to any requests in a row that the contract allows or rejects', async () => {
  const service = await startRealService()
  const start = async (store: ServiceUnderTest) => {
    const token = await store.createToken()
    await createPlantStoreClient({ baseUrl: store.url, fetch: store.fetch, token }).createPlant(FICUS)
    let cursor = 'x'
    return async ({ request, body }: Omit<AnyRequest, 'operation'>) => {
      const { link, ...response } = await send(store, token, request.replace('%3Ccursor%3E', cursor), body)
      cursor = /cursor=([^&>]+)/.exec(link ?? '')?.[1] ?? cursor
      return { ...response, isLast: link === null }
    }
  }
  await fc.assert(
    fc.asyncProperty(fc.array(anyRequest, { maxLength: 20 }), async (requests) => {
      const [sendToService, sendToFake] = [await start(service), await start(await startFake())]
      for (const each of [...requests, { request: 'GET /plants', body: '' }]) {
        expect(await sendToService(each), `${each.request} ${each.body}`).toEqual(await sendToFake(each))
      }
    }),
    { numRuns: runs(50), examples: [[rejected.map(([operation, request, body]) => ({ operation, request, body }))]] },
  )
})

describe.each([
  ['the real service', startRealService],
  ['the fake', startFake],
])('%s', async (_, start) => {
  const service = await start()
  const clientOf = (options: sdk.ClientOptions) =>
    createPlantStoreClient({ baseUrl: service.url, fetch: service.fetch, ...options })
  /** Creates an account with plants, and a token of it. */
  async function newToken(plants: readonly sdk.NewPlant[]): Promise<string> {
    const token = await service.createToken()
    const client = clientOf({ token })
    for (const plant of plants) await client.createPlant(plant)
    return token
  }
  /** Creates an account with plants of these ids, and a client of it. */
  async function newAccount(ids: readonly (number | bigint)[] = []): Promise<sdk.PlantStoreClient> {
    return clientOf({ token: await newToken(ids.map((id) => ({ id, name: `plant ${id}` }))) })
  }

  test.each(requests)('responds to %s: %s', async (_, request, body, response, plants) => {
    const token = await newToken(plants)
    const { nextCursor = '' } = await (await newAccount([1, 2])).raw.getPlants({ limit: 1 })
    const received = await send(service, token, request.replace('<cursor>', nextCursor), body)
    const isError = typeof response === 'number'
    expect(received.body).toEqual(isError ? { error: BigInt(response), message: expect.any(String) } : exact(response))
  })

  test('a plant that is added between pages shifts none', async () => {
    const ids = [5, 3, 9, 1, 7]
    const client = await newAccount(ids)
    const plants = ids.map((id) => ({ name: `plant ${id}` }))
    const { data, nextCursor } = await client.raw.getPlants({ limit: 3 })
    await client.createPlant({ id: -1, name: 'added' })
    const rest = await client.raw.getPlants({ limit: 3, cursor: nextCursor })
    expect([...data, ...rest.data]).toEqual([...plants, { name: 'added' }])
    expect([rest.nextCursor, (await client.raw.getPlants()).nextCursor]).toEqual([undefined, undefined])
  })

  describe.each(operations)('$name', ({ name, input, response, lists, request: { method, target, body = '' } }) => {
    const { path, metadata } = contract[name]
    const { scope, idempotent: isIdempotent = true } = metadata
    const call = (client: sdk.PlantStoreClient) =>
      (client.raw[name] as (input: unknown) => Promise<sdk.RawResponse<unknown>>)(input)

    test('responds to its input', async () => {
      const client = await newAccount()
      await client.createPlant(FICUS)
      expect(exact((await call(client)).data)).toEqual(exact(response))
    })

    test(`whose response is lost ${isIdempotent ? 'has the same result' : 'fails, and is not sent again'}`, async () => {
      const [token, other] = [await service.createToken(), await service.createToken()]
      const client = clientOf({ token })
      for (const account of [client, clientOf({ token: other })]) await account.createPlant(FICUS)
      let requests = 0
      const fetch = async (url: string, options: RequestInit) => {
        const response = await service.fetch(url, options)
        if (requests++ === 0) throw new TypeError('fetch failed', { cause: new Error('other side closed') })
        return response
      }
      const expected = await call(clientOf({ token: other }))
      const result = await call(clientOf({ token, fetch })).catch((error: sdk.PlantStoreError) => error)
      if (isIdempotent) expect(result).toMatchObject({ data: expected.data, status: expected.status, attempts: 2 })
      else expect(result).toMatchObject({ kind: 'connection', attempts: 1, retryable: false })
      expect(await client.getPlants()).toEqual(await clientOf({ token: other }).getPlants())
    })

    test('affects the plants of its own account only, and rejects a token that is missing, unknown, ended or too weak', async () => {
      const [own, other] = [await newAccount(), await newAccount([1])]
      await own.createPlant(FICUS)
      await call(own)
      if (scope === 'read')
        expect(await own.getPlants(), 'needs the scope write').toEqual([{ name: 'Ficus', tag: 'fig' }])
      expect(await other.getPlants()).toEqual([{ name: 'plant 1' }])
      const tokenEnded = await service.createToken({ expiresAt: new Date(Date.now() - 1000) })
      const scopeMissing = await service.createToken({ scopes: [scope === 'read' ? 'write' : 'read'] })
      const tokens = { tokenMissing: '', tokenInvalid: 'pst_unknown', tokenEnded, scopeMissing } as const
      for (const [error, token] of Object.entries(tokens)) {
        const name = error as keyof typeof tokens
        const { code, reason } = errorCatalogue[name]
        const message = name === 'scopeMissing' ? errorMessages.scopeMissing.replace('{scope}', scope) : reason
        const rejection = { status: statusOf(name), body: { error: BigInt(code), message } }
        expect(await send(service, token, `${method} ${target}`, body)).toMatchObject(rejection)
      }
    })

    test.each(lists)('pages %s: %s', async (_, target, all, plants) => {
      const isFiltered = all.length < plants.length
      const token = await newToken(isFiltered ? plants.slice(0, -1) : plants)
      // What follows the last plant of a list does not make another page.
      if (isFiltered) expect((await send(service, token, `GET ${target}`, '')).body).toEqual(exact(all))
      for (const plant of plants.slice(-1)) await clientOf({ token }).createPlant(plant)
      for (const limit of [1, 2, all.length]) {
        const count = Math.ceil(all.length / limit)
        const expected = Array.from({ length: count }, (_, page) => all.slice(page * limit, (page + 1) * limit))
        const sent = { token, target, limit, maxPages: count + 1 }
        expect(await readPages(service, sent), `limit=${limit}`).toEqual(exact(expected))
      }
    })

    const invalid = path.includes(':') ? ['%00', '%zz'] : []
    test.each(invalid)('with the path parameter %s responds 404, whatever the body', async (value) => {
      const token = await service.createToken()
      const response = await send(service, token, `${method} ${path.replace(/:\w+/g, value)}`, body)
      expect(response).toMatchObject({ status: 404, body: { error: 40400n } })
    })
  })
})
