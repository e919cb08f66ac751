/** One set of tests for the real service and for the fake of `@plant-store/client/testing`. */
import { randomBytes, randomUUID } from 'node:crypto'
import { errorCatalogue } from '@plant-store/contract'
import { createOpenApiDocument } from '@plant-store/contract/openapi'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codePoint } from '../../../test/helpers/code-points.ts'
import { INSTALL_TIMEOUT } from '../../../test/helpers/install-tools.ts'
import type * as sdk from '../../src/index.ts'
import { ApiError, createPlantStoreClient } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { type ServiceUnderTest, starts } from '../helpers/service-under-test.ts'

/** A call of each operation, in an account that has the plant {@link FICUS}. */
const calls: { [TName in sdk.OperationName]: Parameters<sdk.PlantStoreClient[TName]> } = {
  createPlant: [{ id: 2, name: 'Monstera' }],
  getPlants: [{ limit: 1 }],
}
const FICUS = { id: 1, name: 'Ficus', tag: 'fig' }
/** The same id in another account. */
const ALOE = { id: 1, name: 'Aloe' }
const JSON_TYPE = { 'content-type': 'application/json' }

/** A request to an account that has {@link FICUS}, in which `<cursor>` is that of another account. */
type Row = [what: string, request: string, body?: string]
/** Each operation and failure: the service and the fake respond to them with the same status and body. */
const requests: Row[] = [
  ['a plant', 'POST /plants', '{"id":2,"name":"Aloe","tag":""}'],
  ['the same plant again', 'POST /plants', '{"id":1,"name":"Ficus","tag":"fig"}'],
  ['an unknown field', 'POST /plants', '{"id":2,"name":"Aloe","height":3,"__proto__":{"tag":"x"}}'],
  ['the largest id', 'POST /plants', '{"id":9223372036854775807,"name":"\\"id\\":9007199254740993"}'],
  ['a taken id', 'POST /plants', '{"id":1,"name":"Aloe"}'],
  ['a taken id without the tag', 'POST /plants', '{"id":1,"name":"Ficus"}'],
  ['no fields', 'POST /plants', '{}'],
  ['wrong types', 'POST /plants', '{"id":"1","name":5,"tag":null}'],
  ['an id that is not an integer', 'POST /plants', '{"id":1.5,"name":""}'],
  ['an id that is too large', 'POST /plants', '{"id":9223372036854775808,"name":""}'],
  ['a list instead of a plant', 'POST /plants', '[]'],
  ['the whole list', 'GET /plants'],
  ['a page', 'GET /plants?limit=1'],
  ...['0', '1001', 'abc', '1.5', '', '1e2', '01'].map(
    (limit): Row => ['an invalid limit', `GET /plants?limit=${limit}`],
  ),
  ['a limit that is repeated', 'GET /plants?limit=1&limit=2'],
  ['two invalid parameters', 'GET /plants?limit=0&cursor=a&cursor=b'],
  ['a cursor that is none', 'GET /plants?cursor=nonsense'],
  ['the cursor of another account', 'GET /plants?cursor=<cursor>'],
  ['another path', 'GET /plant'],
]

const operations = Object.entries(createOpenApiDocument().paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId, requestBody, 'x-idempotent': isIdempotent }]) => ({
    ...{ name: operationId as sdk.OperationName, method: method.toUpperCase(), path, isIdempotent },
    hasBody: requestBody !== undefined,
  })),
)

/** Reads a response, whose body is JSON, unless the status is 204. */
async function readResponse(response: sdk.FetchResponse) {
  const { status, headers } = response
  const text = await response.text()
  expect(headers.get('content-type')).toBe(status === 204 ? null : 'application/json; charset=utf-8')
  return { status, body: status === 204 ? text : JSON.parse(text) }
}

describe.each(Object.entries(starts))('%s', (_, start) => {
  let service: ServiceUnderTest
  let token: string
  beforeAll(async () => {
    service = await start()
    token = await service.createToken()
  }, INSTALL_TIMEOUT)
  afterAll(() => service[Symbol.asyncDispose]())

  const clientOf = (options: sdk.ClientOptions) =>
    createPlantStoreClient({ baseUrl: service.url, token, fetch: service.fetch, ...options })
  const newToken = () => service.createToken({ account: randomUUID() })
  /** Creates an account with plants of these ids, and a client of it. */
  async function newAccount(ids: readonly (number | bigint)[] = []): Promise<sdk.PlantStoreClient> {
    const client = clientOf({ token: await newToken() })
    for (const id of ids) await client.createPlant({ id, name: `plant ${id}` })
    return client
  }

  /** Sends a raw request. */
  async function send(request: string, body?: string, own = token) {
    const [method = '', path = ''] = request.split(' ')
    const headers = { authorization: `Bearer ${own}`, ...(body !== undefined && JSON_TYPE) }
    const response = await service.fetch(service.url + path, { method, headers, ...(body !== undefined && { body }) })
    expect(response.headers.get('x-request-id')).toMatch(/^[\w.-]{1,64}$/)
    return readResponse(response)
  }

  test.for(requests)(
    '%s gets the same response from the service and the fake: %s %s',
    async ([, request, body], { skip }) => {
      skip(service.isBehindProxy === true && /\d{16}/.test(body ?? ''), 'Prism rounds these ids.')
      const client = await newAccount()
      const fake = createFakePlantStore()
      const [own, other] = [await newToken(), await newToken()]
      await client.createPlant(FICUS, { token: own })
      for (const id of [1, 2]) await client.createPlant({ id, name: '' }, { token: other })
      const { nextCursor } = await client.raw.getPlants({ limit: 1 }, { token: other })
      fake.add([FICUS])
      const headers = { authorization: `Bearer ${fake.token}`, ...(body !== undefined && JSON_TYPE) }
      const [method = '', path = ''] = request.replace('<cursor>', nextCursor ?? '').split(' ')
      const expected = await fake.fetch(fake.baseUrl + path, {
        method,
        headers,
        ...(body !== undefined && { body }),
      } as object)
      const response = await send(`${method} ${path}`, body, own)
      expect(response).toEqual(await readResponse(expected))
    },
  )

  describe('creating a plant', () => {
    test('responds with the plant without its id, and twice with the same content adds nothing', async () => {
      const client = await newAccount()
      for (const [id, plant] of [{ name: 'Ficus' }, { name: '', tag: '' }].entries()) {
        for (const _ of [1, 2]) {
          expect(await client.createPlant({ id, tag: undefined, ...plant })).toStrictEqual(plant)
        }
      }
      expect(await client.getPlants()).toHaveLength(2)
    })

    test('distinguishes ids over all of int64', async ({ skip }) => {
      skip(service.isBehindProxy === true, 'Prism reads bodies with JSON.parse, which rounds these ids.')
      const edges = [0n, 2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n)]
      const near = edges.flatMap((edge) => [edge - 1n, edge, edge + 1n]).filter((id) => BigInt.asIntN(64, id) === id)
      const others = fc.sample(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), 30)
      const ids = [...new Set([...near, ...others])]
      expect(await (await newAccount(ids)).getPlants()).toEqual(ids.map((id) => ({ name: `plant ${id}` })))
    })

    test('keeps text of any length code point for code point', async () => {
      const client = await newAccount()
      const fixed = 'Monstera × “Thai” \u0001\u007f\u2028 🌱 e\u0301 \uFEFF \\ " "id":7 é'
      // Longer than a row of an index in PostgreSQL, and not compressible to less: an index on the text would reject it.
      const long = randomBytes(9_000).toString('base64')
      const texts = ['', long, fixed, ...fc.sample(fc.string({ unit: codePoint, maxLength: 40 }), 50), long]
      const plants = texts.map((name, index) => ({ name, tag: texts.at(-index) ?? '' }))
      for (const [id, plant] of plants.entries()) await client.createPlant({ id, ...plant })
      expect(await client.getPlants()).toEqual(plants)
    })
  })

  describe('listing plants', () => {
    test('is in order of creation, whole or page by page', async () => {
      const ids = [5, 3, 9, 1, 7]
      const client = await newAccount(ids)
      const plants = ids.map((id) => ({ name: `plant ${id}` }))
      expect(await client.getPlants()).toEqual(plants)
      for (const limit of [1, 2, 4, 5, 1000]) {
        const listed: sdk.Plant[] = []
        for await (const plant of client.iterate.getPlants({ limit })) listed.push(plant)
        expect(listed).toEqual(plants)
      }
      for await (const plant of (await newAccount()).iterate.getPlants()) expect.fail(`a new account has ${plant.name}`)
    })

    test('has a next page only if there are more plants, and starts at a cursor of its account', async () => {
      const client = await newAccount([0, 1, 2, 3])
      const { data, nextCursor } = await client.raw.getPlants({ limit: 2 })
      expect(data).toHaveLength(2)
      const rest = [{ name: 'plant 2' }, { name: 'plant 3' }]
      for (const query of [{ limit: 2, cursor: nextCursor }, { cursor: nextCursor }]) {
        expect(await client.raw.getPlants(query)).toMatchObject({ data: rest, nextCursor: undefined })
      }
      expect((await client.raw.getPlants()).nextCursor).toBeUndefined()
      const inAnother = (await newAccount([0, 1, 2, 3])).getPlants({ cursor: nextCursor })
      expect(await failureOf(inAnother, ApiError)).toMatchObject({ status: 400, code: 40004 })
    })

    test('does not shift a page when a plant is added', async () => {
      const client = await newAccount([0, 1, 2])
      const names: string[] = []
      for await (const { name } of client.iterate.getPlants({ limit: 2 })) {
        names.push(name)
        if (names.length === 1) await client.createPlant({ id: -1, name: 'added' })
      }
      expect(names).toEqual(['plant 0', 'plant 1', 'plant 2', 'added'])
    })
  })

  describe.each(operations)('$name', ({ name, method, path, hasBody, isIdempotent }) => {
    const call = async (client: sdk.PlantStoreClient) => {
      expect(calls, `add a call of ${name} to the calls of this file`).toHaveProperty(name)
      return await (client.raw[name] as (...parameters: unknown[]) => Promise<sdk.RawResponse<unknown>>)(...calls[name])
    }
    const target = path.replace(/\{\w+\}/g, '1')
    const body = hasBody ? '{}' : undefined

    test('affects the plants of its own account only, and has content, unless the status is 204', async () => {
      const [own, other] = [await newAccount(), await newAccount()]
      await own.createPlant(FICUS)
      await other.createPlant(ALOE)
      const { status, headers, requestId } = await call(own)
      expect(requestId).toBe(headers.get('x-request-id'))
      expect(headers.get('content-type')).toBe(status === 204 ? null : 'application/json; charset=utf-8')
      expect(await other.getPlants()).toEqual([{ name: 'Aloe' }])
    })

    test(`whose response is lost ${isIdempotent ? 'has the same result' : 'fails, and is not sent again'}`, async () => {
      const [token, other] = [await newToken(), await newToken()]
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

    test.each(Object.entries({ tokenInvalid: 40102, tokenEnded: 40103 }))(
      'rejects a token: %s',
      async (name, error) => {
        const token = name === 'tokenEnded' ? await service.createEndedToken() : 'pst_unknown'
        const { reason } = errorCatalogue[name as sdk.ErrorName]
        const response = await send(`${method} ${target}`, body, token)
        expect(response).toEqual({ status: 401, body: { error, message: reason } })
      },
    )

    test.runIf(path !== target)('with an invalid path parameter responds 404, whatever the body', async () => {
      for (const value of ['%00', '%zz']) {
        const invalid = await send(`${method} ${path.replace(/\{\w+\}/, value)}`, body)
        expect(invalid).toMatchObject({ status: 404, body: { error: 40400 } })
      }
    })
  })

  test('a wrong base URL gets a 404 for any token, no token a 401', async () => {
    const lost = clientOf({ baseUrl: `${service.url}/shop`, token: 'pst_unknown' })
    expect(await failureOf(lost.getPlants(), ApiError)).toMatchObject({ kind: 'api', code: 40400 })
    const error = await failureOf(clientOf({ token: false }).getPlants(), ApiError)
    expect(error).toMatchObject({ status: 401, code: 40101, detail: errorCatalogue.tokenMissing.reason })
  })

  test('an invalid field is an issue of the error, with its name', async () => {
    const { issues } = await failureOf((await newAccount()).createPlant({ id: 1, name: 5 as never }), ApiError)
    expect(issues).toEqual([{ path: 'name', message: 'must be a string' }])
    const page = failureOf((await newAccount()).getPlants({ limit: 0 }), ApiError)
    expect((await page).issues).toEqual([{ path: 'limit', message: 'must be an integer between 1 and 1000' }])
  })
})
