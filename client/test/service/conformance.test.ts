/** One set of tests for the real service and for the fake of `@plant-store/client/testing`. */
import { randomBytes, randomUUID } from 'node:crypto'
import { ScopeSchema } from '@plant-store/contract'
import { createOpenApiDocument } from '@plant-store/contract/openapi'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codePoint } from '../../../test/helpers/code-points.ts'
import { INSTALL_TIMEOUT } from '../../../test/helpers/install-tools.ts'
import type * as sdk from '../../src/index.ts'
import { ApiError, createPlantStoreClient } from '../../src/index.ts'
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

const operations = Object.entries(createOpenApiDocument().paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId, security, requestBody, 'x-idempotent': isIdempotent }]) => ({
    ...{ name: operationId as sdk.OperationName, method: method.toUpperCase(), path, isIdempotent },
    ...{ scope: security[0]?.bearer[0] ?? 'read', hasBody: requestBody !== undefined },
  })),
)

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

  /** Sends a raw request and parses the response, which is JSON with a request id. */
  async function send(method: string, path: string, init: RequestInit = {}) {
    const headers = { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) }
    const response = await service.fetch(`${service.url}${path}`, { method, ...init, headers })
    const { status, headers: received } = response
    expect(received.get('x-request-id')).toMatch(/^[\w.-]{1,64}$/)
    expect(received.get('content-type')).toBe('application/json; charset=utf-8')
    expect(received.get('cache-control')).toBe('no-store')
    const { error, message } = JSON.parse(await response.text())
    return { status, error, message, headers: received }
  }

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

    const taken: sdk.NewPlant[] = [
      { id: 1, name: 'Monstera', tag: 'fig' },
      { id: 1n, name: 'Ficus', tag: 'tree' },
      { id: 1, name: 'Ficus' },
      { id: 1, name: 'Ficus', tag: '' },
    ]
    test.each(taken)('twice with different content is rejected: %o', async (plant) => {
      const client = await newAccount()
      await client.createPlant({ id: 1, name: 'Ficus', tag: 'fig' })
      const error = await failureOf(client.createPlant(plant), ApiError)
      expect(error).toMatchObject({ kind: 'api', status: 400, code: 40003 })
      expect(error.message).toContain('id: is taken by another plant of this account. Choose another id.')
      expect(await client.getPlants()).toEqual([{ name: 'Ficus', tag: 'fig' }])
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

    const invalidLimits = ['0', '-1', '1001', 'abc', '1.5', '', '%201', '1e2', '+1', '00', '999999999', '01']
    const notLimit = /^limit: must be an integer between 1 and 1000$/
    test.each<[string, RegExp]>([
      ...invalidLimits.map((limit): [string, RegExp] => [`limit=${limit}`, notLimit]),
      ['cursor=', /^cursor: must be taken from the Link header/],
      ['cursor=nonsense', /^cursor: must be taken from the Link header/],
      ['limit=1&limit=2', /^limit: must appear only once$/],
    ])('with ?%s is rejected', async (query, message) => {
      const response = await send('GET', `/plants?${query}`)
      expect(response).toMatchObject({ status: 400, error: 40004, message: expect.stringMatching(message) })
    })
  })

  describe.each(operations)('$name', ({ name, method, path, scope, hasBody, isIdempotent }) => {
    const call = async (client: sdk.PlantStoreClient) => {
      expect(calls, `add a call of ${name} to the calls of this file`).toHaveProperty(name)
      return await (client.raw[name] as (...parameters: unknown[]) => Promise<sdk.RawResponse<unknown>>)(...calls[name])
    }
    const target = path.replace(/\{\w+\}/g, '1')
    const init = { headers: hasBody ? JSON_TYPE : {}, ...(hasBody && { body: '{}' }) }

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

    test('with an unknown or expired token is rejected', async () => {
      const expired = await service.createToken({ expiresAt: new Date(Date.now() - 1000) })
      for (const [token, error] of Object.entries({ pst_unknown: 40102, [expired]: 40103 })) {
        const response = await send(method, target, { ...init, headers: { authorization: `Bearer ${token}` } })
        expect(response).toMatchObject({ status: 401, error })
        expect(response.headers.get('www-authenticate')).toBe('Bearer realm="plant-store", error="invalid_token"')
      }
    })

    test('with a token of another scope is rejected', async () => {
      const limited = await service.createToken({ scopes: ScopeSchema.options.filter((each) => each !== scope) })
      const response = await send(method, target, { ...init, headers: { authorization: `Bearer ${limited}` } })
      expect(response).toMatchObject({ status: 403, error: 40301 })
      expect(response.message).toBe(`The token lacks the scope "${scope}" that this operation needs.`)
      expect(response.headers.get('www-authenticate')).toContain(`error="insufficient_scope", scope="${scope}"`)
    })

    test.runIf(path !== target)('with an invalid path parameter responds 404, whatever the body', async () => {
      for (const value of ['%00', '%zz']) {
        const invalid = await send(method, path.replace(/\{\w+\}/, value), init)
        expect(invalid).toMatchObject({ status: 404, error: 40400 })
      }
    })

    test.runIf(hasBody)('rejects bodies that are not JSON or not an object', async ({ skip }) => {
      skip(service.isBehindProxy === true, 'Prism waits for ever for a body that is not the gzip that it says.')
      const send415 = (headers: Record<string, string>) => send(method, target, { headers, body: '{}' })
      for (const type of ['text/plain', 'application/json; charset=latin1', 'application/jsonp']) {
        expect(await send415({ 'content-type': type })).toMatchObject({ status: 415, error: 41500 })
      }
      expect(await send415({ ...JSON_TYPE, 'content-encoding': 'gzip' })).toMatchObject({ status: 415, error: 41500 })
      for (const [body, error] of Object.entries({ '{': 40001, '': 40001, '{} x': 40001, '[]': 40002, null: 40002 })) {
        expect(await send(method, target, { ...init, body }), body).toMatchObject({ status: 400, error })
      }
      for (const type of [
        'Application/JSON ; charset="UTF-8"',
        'application/json;v=1; charset=utf8',
        'application/json;',
      ]) {
        const headers = { 'content-type': type, 'content-encoding': 'identity' }
        expect((await send(method, target, { headers, body: '[]' })).error, type).toBe(40002)
      }
    })
  })

  test('a header or cursor that is too long gets a 431, a shorter one what it deserves', async ({ skip }) => {
    skip(service.isBehindProxy === true, 'Prism rejects them itself.')
    const long = { 'x-long': 'x'.repeat(20_000) }
    expect(await send('GET', '/plants?limit=0', { headers: long })).toMatchObject({ status: 431, error: 43100 })
    expect(await send('GET', `/plants?cursor=${'x'.repeat(20_000)}`)).toMatchObject({ error: 43100 })
    expect(await send('GET', `/plants?cursor=${'x'.repeat(10_000)}`)).toMatchObject({ error: 40004 })
  })

  test('a wrong base URL gets a 404 for any token, no token a 401 without error="invalid_token"', async () => {
    const lost = clientOf({ baseUrl: `${service.url}/shop`, token: 'pst_unknown' })
    expect(await failureOf(lost.getPlants(), ApiError)).toMatchObject({ kind: 'undeclared', code: 40400 })
    const error = await failureOf(clientOf({ token: false }).getPlants(), ApiError)
    expect(error).toMatchObject({ status: 401, code: 40101 })
    expect(error.headers.get('www-authenticate')).toBe('Bearer realm="plant-store"')
  })

  test('a body that is too large gets a 413', async () => {
    const error = await failureOf(clientOf({}).createPlant({ id: 1, name: 'x'.repeat(2 ** 20) }), ApiError)
    const detail = 'The body is larger than 1048576 bytes. Send a smaller one.'
    expect(error).toMatchObject({ status: 413, code: 41300, detail })
  })

  test('the request id of the client is returned, where it is valid', async () => {
    for (const [id, expected] of Object.entries({ 'job-7.a_b': 'job-7.a_b', 'a b': expect.not.stringMatching(/ /) })) {
      const { headers } = await send('GET', '/plants', { headers: { 'x-request-id': id } })
      expect(headers.get('x-request-id')).toEqual(expected)
    }
  })
})
