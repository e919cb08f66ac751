/** One set of tests for the real service and for the fake of `@plant-store/client/testing`. */
import { randomBytes, randomUUID } from 'node:crypto'
import { contract, errorCatalogue, errorMessages, PlantSchema, statusOf } from '@plant-store/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { asServer, newDatabase, query } from '../../../test/helpers/database/databases.ts'
import { runs } from '../../../test/helpers/long-tests.ts'
import {
  asStored,
  completeCase,
  exact,
  operations,
  PLANTS,
  parse,
  type RequestCase,
  type StoredPlants,
  type TestRequest,
} from '../../../test/helpers/operations.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import type * as sdk from '../../src/index.ts'
import { createPlantStoreClient } from '../../src/index.ts'
import { createFakePlantStore, type FakeToken } from '../../src/testing/index.ts'

/** A plant store, the real one or the fake. */
interface ServiceUnderTest {
  readonly url: string
  readonly fetch: typeof fetch
  createToken(token: Partial<FakeToken> & { readonly account: string }): Promise<string>
  /** Returns the plants of an account as they are stored, with all of their fields, in order of creation. */
  storedOf(account: string): Promise<StoredPlants>
}

/** On PostgreSQL, it has the rights of production. */
async function startRealService(): Promise<ServiceUnderTest> {
  const databaseUrl = await newDatabase()
  const { url, createToken } = await startTestServer({ databaseUrl: await asServer(databaseUrl) })
  return {
    url,
    fetch,
    createToken: async (token) => (await createToken(token)).token,
    async storedOf(account) {
      const plants = await query<Record<string, unknown>>(
        databaseUrl,
        `SELECT * FROM "Plant" WHERE "account" = '${account}' ORDER BY "seq"`,
      )
      return asStored(plants.map(({ seq: _, account: __, createdAt: ___, ...plant }) => plant))
    },
  }
}

async function startFake(): Promise<ServiceUnderTest> {
  const store = createFakePlantStore()
  return {
    url: store.baseUrl,
    fetch: store.fetch as ServiceUnderTest['fetch'],
    createToken: async (token) => store.createToken(token),
    storedOf: async (account) => asStored(store.plants(account)),
  }
}

/** Longer than a row of an index in PostgreSQL, and not compressible to less: an index on the text would reject it. */
const text = randomBytes(40_000).toString('base64').slice(0, 51_186)
/** A plant of 100 KiB. */
const largest = `{"id":17,"name":"${text}","tag":"${text}"}`

/** What is no request of an operation, or at a limit. */
const others: readonly RequestCase[] = [
  ['the largest page', 'GET /plants?limit=1000', '', [{ name: 'Ficus', tag: 'fig' }, { name: 'Fern' }]],
  ['a page that is larger', 'GET /plants?limit=1001', '', 40004],
  ['an id that is smaller', 'POST /plants', `{"id":${-(2n ** 63n) - 1n},"name":""}`, 40002],
  ['another path', 'GET /plant', '', 40400],
  [
    'a body of 100 KiB',
    'POST /plants',
    largest,
    { name: text, tag: text },
    { after: [...PLANTS, { id: 17, name: text, tag: text }] },
  ],
  ['a body that is larger', 'POST /plants', `${largest} `, 41300],
  ['a larger body that is not JSON', 'POST /plants', 'é'.repeat(51_201), 41300],
]
const requests = [...operations.flatMap((operation) => operation.requests), ...others.map(completeCase)]
const rejected = requests.filter(({ response }) => typeof response === 'number')

/** Returns a client of a store, which has no token by default. */
function clientOf({ url, fetch }: ServiceUnderTest, token: string | false, options: sdk.ClientOptions = {}) {
  return createPlantStoreClient({ baseUrl: url, fetch, token, ...options })
}

/** Sends a request, and reads the response, whose body is JSON, unless the status is 204. */
async function send({ url, fetch }: ServiceUnderTest, token: string, request: string, body: string) {
  const [method = '', path = ''] = request.split(' ')
  const authorization = token && `Bearer ${token}`
  const headers = { authorization, ...(body && { 'content-type': 'application/json' }) }
  const response = await fetch(url + path, { method, headers, ...(body && { body }) })
  const text = await response.text()
  expect(response.headers.get('content-type')).toBe(text ? 'application/json; charset=utf-8' : null)
  expect(response.headers.get('x-request-id')).toMatch(/^[\w.-]{1,64}$/)
  return { status: response.status, body: parse(text), link: response.headers.get('link') }
}

/** Reads pages as their links lead, but not more than so many. */
async function readPages(service: ServiceUnderTest, token: string, [target, maxPages]: [target: string, max: number]) {
  const pages: unknown[] = []
  let url: URL | undefined = new URL(target, service.url)
  while (url && pages.length < maxPages) {
    const { body, link } = await send(service, token, `GET ${url.pathname}${url.search}`, '')
    pages.push(body)
    const [, next] = /<([^>]*)>; rel="next"/.exec(link ?? '') ?? []
    url = next === undefined ? undefined : new URL(next, url)
  }
  return pages
}

/** `<cursor>` is that of the last page. */
type SentRequest = Pick<TestRequest, 'request' | 'body'>

/** A list that is followed to its end, and on, as later plants are created. */
const next = 'GET /plants?cursor=<cursor>'
const followed: SentRequest[] = ['GET /plants?limit=1', next, next, 'POST /plants', next].map((request) => {
  return { request, body: request.startsWith('POST') ? '{"id":8,"name":"Later"}' : '' }
})

test('the service responds as the fake to the requests in any order', async () => {
  const service = await startRealService()
  const start = async (store: ServiceUnderTest) => {
    const account = randomUUID()
    const token = await store.createToken({ account })
    for (const plant of PLANTS) await clientOf(store, token).createPlant(plant)
    let cursor = 'x'
    return {
      stored: () => store.storedOf(account),
      async send({ request, body }: SentRequest) {
        const { link, ...response } = await send(store, token, request.replace('<cursor>', cursor), body)
        cursor = /cursor=([^&>]+)/.exec(link ?? '')?.[1] ?? cursor
        return { ...response, links: [...(link ?? '').matchAll(/rel="(\w+)"/g)].map(([, relation]) => relation) }
      },
    }
  }
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...requests, ...followed), { maxLength: 20 }), async (sent) => {
      const [real, fake] = [await start(service), await start(await startFake())]
      for (const each of [...sent, { request: 'GET /plants', body: '' }]) {
        expect(await real.send(each), `${each.request} ${each.body}`).toEqual(await fake.send(each))
      }
      expect(await real.stored()).toEqual(await fake.stored())
    }),
    { numRuns: runs(50), examples: [[rejected], [followed]] },
  )
})

describe.each([
  ['the real service', startRealService],
  ['the fake', startFake],
])('%s', async (_, start) => {
  const service = await start()
  /** Creates an account, with a token and a client of it. */
  async function newAccount(plants: readonly sdk.NewPlant[] = PLANTS) {
    const account = randomUUID()
    const token = await service.createToken({ account })
    const client = clientOf(service, token)
    for (const plant of plants) await client.createPlant(plant)
    return { token, client, stored: () => service.storedOf(account) }
  }

  test.each(requests)('responds to $what: $request', async ({ request, body, response, first, after }) => {
    const { token, client, stored } = await newAccount([])
    for (const [request, body] of first) expect((await send(service, token, request, body)).status).toBeLessThan(300)
    await client.getPlants()
    const other = await newAccount()
    const { nextCursor = '' } = await other.client.raw.getPlants({ limit: 1 })
    const received = await send(service, token, request.replace('<cursor>', nextCursor), body)
    const expected =
      typeof response === 'number' ? { error: BigInt(response), message: expect.any(String) } : exact(response)
    const hint = received.status === 503 ? 'may the role of servers do that? See plantRights' : 'the response'
    expect(received.body, hint).toEqual(expected)
    expect(await stored(), 'what is stored afterwards').toEqual(asStored(after))
    const listed = after.map((plant) => PlantSchema.parse(plant))
    expect(exact(await client.getPlants()), 'the list afterwards (its trigger compares columns)').toEqual(exact(listed))
    expect(await other.stored(), 'what another account has').toEqual(asStored(PLANTS))
  })

  describe.each(operations)('$name', (operation) => {
    const { name, input, lists } = operation
    const { request, body, response } = operation.requests[0] as TestRequest
    const { scope, idempotent: isIdempotent = true } = contract[name].metadata
    const call = (client: sdk.PlantStoreClient) =>
      (client.raw[name] as (input: unknown) => Promise<sdk.RawResponse<unknown>>)(input)

    test(`whose response is lost ${isIdempotent ? 'has the same result' : 'fails, and is not sent again'}`, async () => {
      const [own, other] = [await newAccount(), await newAccount()]
      let requests = 0
      const fetch = async (url: string, options: RequestInit) => {
        const response = await service.fetch(url, options)
        if (requests++ === 0) throw new TypeError('fetch failed', { cause: new Error('other side closed') })
        return response
      }
      const expected = await call(other.client)
      expect(exact(expected.data)).toEqual(exact(response))
      const result = await call(clientOf(service, own.token, { fetch })).catch((error: sdk.PlantStoreError) => error)
      if (isIdempotent) expect(result).toMatchObject({ data: expected.data, status: expected.status, attempts: 2 })
      else expect(result).toMatchObject({ kind: 'connection', attempts: 1, retryable: false })
      expect(await own.stored()).toEqual(await other.stored())
    })

    test('rejects a token that is missing, unknown, ended or too weak', async () => {
      const account = randomUUID()
      const tokenEnded = await service.createToken({ account, expiresAt: new Date(Date.now() - 1000) })
      const scopeMissing = await service.createToken({ account, scopes: [scope === 'read' ? 'write' : 'read'] })
      const tokens = { tokenMissing: '', tokenInvalid: 'pst_unknown', tokenEnded, scopeMissing } as const
      for (const [error, token] of Object.entries(tokens)) {
        const name = error as keyof typeof tokens
        const { code, reason } = errorCatalogue[name]
        const message = name === 'scopeMissing' ? errorMessages.scopeMissing.replace('{scope}', scope) : reason
        const rejection = { status: statusOf(name), body: { error: BigInt(code), message } }
        expect(await send(service, token, request, body)).toMatchObject(rejection)
      }
    })

    test.each(lists)('pages $what: $request', async ({ request, response, first, after }) => {
      const all = response as unknown[]
      const isFiltered = all.length < after.length
      const { token } = await newAccount([])
      const [last, ...others] = first.toReversed()
      for (const [request, body] of others.toReversed()) await send(service, token, request, body)
      // What follows the last plant of a list does not make another page.
      if (isFiltered) expect((await send(service, token, request, '')).body).toEqual(exact(all))
      if (last) await send(service, token, ...last)
      for (const limit of [1, 2, all.length]) {
        const count = Math.ceil(all.length / limit)
        const expected = Array.from({ length: count }, (_, page) => all.slice(page * limit, (page + 1) * limit))
        const target = `${request.replace('GET ', '')}${request.includes('?') ? '&' : '?'}limit=${limit}`
        expect(await readPages(service, token, [target, count + 1]), target).toEqual(exact(expected))
      }
    })
  })
})
