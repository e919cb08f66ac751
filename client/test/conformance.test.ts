/** One set of tests for the real service and for the fake of `@plant-store/client/testing`: they answer the same. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiError, createPlantStoreClient, type NewPlant } from '../src/index.ts'
import { failureOf } from './helpers/failure-of.ts'
import { type ServiceUnderTest, services } from './helpers/service-under-test.ts'

describe.each(services)('%s', (_, start) => {
  let service: ServiceUnderTest
  let token: string
  beforeAll(async () => {
    service = await start()
    token = await service.createToken()
  })
  afterAll(() => service[Symbol.asyncDispose]())

  /** Sends a request as it stands; gives the status, the error number, the message and some headers. */
  async function answerTo(method: string, path: string, init: RequestInit = {}) {
    const headers = { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) }
    const response = await service.fetch(`${service.url}${path}`, { method, ...init, headers })
    const { error, message } = JSON.parse(await response.text())
    return { status: response.status, error, message, headers: response.headers }
  }

  function post(body: string, headers: Record<string, string> = {}) {
    return answerTo('POST', '/plants', { body, headers: { 'content-type': 'application/json', ...headers } })
  }

  describe('creating a plant', () => {
    test('answers the plant without its id, and without a tag where it has none', async () => {
      const client = await service.newAccount()
      expect(await client.createPlant({ id: 1, name: 'Ficus' })).toStrictEqual({ name: 'Ficus' })
      const tagged = await client.createPlant({ id: 2, name: '', tag: '' })
      expect(tagged).toStrictEqual({ name: '', tag: '' })
    })

    test('again, with the same content, answers the same and adds nothing', async () => {
      const client = await service.newAccount()
      const plant = { id: 9007199254740993n, name: 'Ficus', tag: 'fig' }
      expect([await client.createPlant(plant), await client.createPlant(plant)]).toEqual([
        { name: 'Ficus', tag: 'fig' },
        { name: 'Ficus', tag: 'fig' },
      ])
      expect(await client.getPlants()).toHaveLength(1)
    })

    const taken: NewPlant[] = [
      { id: 1, name: 'Monstera', tag: 'fig' },
      { id: 1n, name: 'Ficus', tag: 'tree' },
      { id: 1, name: 'Ficus' },
      { id: 1, name: 'Ficus', tag: '' },
    ]
    test.each(taken)('again, with other content, is refused: %o', async (plant) => {
      const client = await service.newAccount()
      await client.createPlant({ id: 1, name: 'Ficus', tag: 'fig' })
      const error = await failureOf(client.createPlant(plant), ApiError)
      expect(error).toMatchObject({ kind: 'api', status: 400, code: 40003 })
      expect(error.message).toContain('id: is taken by another plant of this account. Choose another id.')
      expect(await client.getPlants()).toEqual([{ name: 'Ficus', tag: 'fig' }])
    })

    test('tells ids apart over all of int64', async () => {
      const client = await service.newAccount()
      const ids = [2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n), -(2n ** 53n), -(2n ** 53n) - 1n, 0n]
      for (const id of ids) await client.createPlant({ id, name: `plant ${id}` })
      expect((await client.getPlants()).map(({ name }) => name)).toEqual(ids.map((id) => `plant ${id}`))
    })

    test('leaves ids of one account free in another', async () => {
      const [one, other] = [await service.newAccount(), await service.newAccount()]
      await one.createPlant({ id: 1, name: 'Ficus' })
      await other.createPlant({ id: 1, name: 'Monstera' })
      expect([await one.getPlants(), await other.getPlants()]).toEqual([[{ name: 'Ficus' }], [{ name: 'Monstera' }]])
    })

    test('keeps text code point for code point', async () => {
      const client = await service.newAccount()
      const name = 'Monstera × “Thai” \u0001\u007f\u2028 🌱 e\u0301 \uFEFF \\ " é'
      await client.createPlant({ id: 1, name, tag: name })
      expect(await client.getPlants()).toEqual([{ name, tag: name }])
    })

    test.each([
      ['{"id":1e2,"name":"a"}', '{"id":100,"name":"a"}'],
      ['{"id":-0,"name":"b"}', '{"id":0,"name":"b"}'],
      ['{"id":9007199254740993,"name":"c"}', '{ "id" : 9007199254740993, "name" : "\\u0063", "other" : [1] }'],
    ])('takes %s and %s for the same plant', async (one, other) => {
      expect(await post(one)).toMatchObject({ status: 200 })
      expect(await post(other)).toMatchObject({ status: 200 })
    })
  })

  describe('a body that is no NewPlant is a 400 that names the field', () => {
    test.each([
      ['{"name":"a"}', 40002, 'id: must be an integer between'],
      ['{"id":1}', 40002, 'name: is required'],
      ['{"id":"1","name":"a"}', 40002, 'id: must be an integer between'],
      ['{"id":1.5,"name":"a"}', 40002, 'id: must be an integer between'],
      ['{"id":null,"name":"a"}', 40002, 'id: must be an integer between'],
      [
        '{"id":9223372036854775808,"name":"a"}',
        40002,
        'id: must be an integer between -9223372036854775808 and 9223372036854775807 (int64)',
      ],
      [
        '{"id":-9223372036854775809,"name":"a"}',
        40002,
        'id: must be an integer between -9223372036854775808 and 9223372036854775807 (int64)',
      ],
      ['{"id":1,"name":1}', 40002, 'name: must be a string'],
      ['{"id":1,"name":"a","tag":null}', 40002, 'tag: must be a string'],
      ['{"id":1,"name":"\\u0000"}', 40002, 'name: must not contain U+0000 or a lone surrogate'],
      ['{"id":1,"name":"a","tag":"\\ud800"}', 40002, 'tag: must not contain U+0000 or a lone surrogate'],
      ['{"id":true,"name":false,"tag":7}', 40002, '(int64); name: must be a string; tag: must be a string'],
      ['[]', 40002, 'The body must be an object'],
      ['null', 40002, 'The body must be an object'],
      ['"plant"', 40002, 'The body must be an object'],
      ['', 40001, 'The body is not JSON that can be read'],
      ['{"id":1,"name":"a"', 40001, 'The body is not JSON that can be read'],
      ['{id:1}', 40001, 'The body is not JSON that can be read'],
      ['{"id":01,"name":"a"}', 40001, 'The body is not JSON that can be read'],
    ])('%s', async (body, error, message) => {
      expect(await post(body)).toMatchObject({ status: 400, error, message: expect.stringContaining(message) })
    })
  })

  describe('listing plants', () => {
    test('is in order of creation, whole or page by page', async () => {
      const client = await service.newAccount()
      const ids = [5, 3, 9, 1, 7]
      for (const id of ids) await client.createPlant({ id, name: `plant ${id}` })
      const names = ids.map((id) => `plant ${id}`)
      expect((await client.getPlants()).map(({ name }) => name)).toEqual(names)
      for (const limit of [1, 2, 4, 5, 1000]) {
        const listed: string[] = []
        for await (const { name } of client.iterate.getPlants({ limit })) listed.push(name)
        expect(listed).toEqual(names)
      }
    })

    test('has a next page where more follow, and none where the list ends with the page', async () => {
      const client = await service.newAccount()
      for (let id = 0; id < 4; id++) await client.createPlant({ id, name: `plant ${id}` })
      const { data, nextCursor } = await client.raw.getPlants({ limit: 2 })
      expect(data).toHaveLength(2)
      const last = await client.raw.getPlants({ limit: 2, cursor: nextCursor })
      expect([last.data.map(({ name }) => name), last.nextCursor]).toEqual([['plant 2', 'plant 3'], undefined])
      expect((await client.raw.getPlants()).nextCursor).toBeUndefined()
    })

    test('begins at a cursor where no limit is given', async () => {
      const client = await service.newAccount()
      for (let id = 0; id < 4; id++) await client.createPlant({ id, name: `plant ${id}` })
      const { nextCursor } = await client.raw.getPlants({ limit: 3 })
      expect(await client.getPlants({ cursor: nextCursor })).toEqual([{ name: 'plant 3' }])
    })

    test('shifts no page when a plant is added', async () => {
      const client = await service.newAccount()
      for (let id = 0; id < 3; id++) await client.createPlant({ id, name: `plant ${id}` })
      const names: string[] = []
      for await (const { name } of client.iterate.getPlants({ limit: 2 })) {
        names.push(name)
        if (names.length === 1) await client.createPlant({ id: -1, name: 'added' })
      }
      expect(names).toEqual(['plant 0', 'plant 1', 'plant 2', 'added'])
    })

    test.each([
      ['limit=0', 'limit: '],
      ['limit=1001', 'limit: must be between 1 and 1000'],
      ['limit=-1', 'limit: must be a whole number'],
      ['limit=1.5', 'limit: must be a whole number'],
      ['limit=', 'limit: must be a whole number'],
      ['limit=ten', 'limit: must be a whole number'],
      ['limit=1&limit=2', 'limit: must be given once'],
      ['cursor=', 'cursor: must be taken from the Link header of an earlier page'],
      ['cursor=nonsense', 'cursor: must be taken from the Link header of an earlier page'],
    ])('with ?%s is refused', async (query, message) => {
      expect(await answerTo('GET', `/plants?${query}`)).toMatchObject({
        status: 400,
        error: 40004,
        message: expect.stringContaining(message),
      })
    })
  })

  describe('a token', () => {
    test('that is missing is a 401 without a word on the token', async () => {
      const { status, error, headers } = await answerTo('GET', '/plants', { headers: { authorization: '' } })
      expect([status, error, headers.get('www-authenticate')]).toEqual([401, 40101, 'Bearer realm="plant-store"'])
    })

    test.each(['Bearer pst_unknown', 'Bearer', 'Bearer two words', 'bearer pst_unknown'])(
      'that is unknown or malformed is a 401 that says so: %s',
      async (authorization) => {
        const { status, error, headers } = await answerTo('GET', '/plants', { headers: { authorization } })
        expect([status, error]).toEqual([401, 40102])
        expect(headers.get('www-authenticate')).toBe('Bearer realm="plant-store", error="invalid_token"')
      },
    )

    test('may have its scheme in any case', async () => {
      expect(await answerTo('GET', '/plants', { headers: { authorization: `bEARER ${token}` } })).toMatchObject({
        status: 200,
      })
    })

    test('that has expired is a 401', async () => {
      const expired = await service.createToken({ expiresAt: new Date(Date.now() - 1000) })
      const answer = await answerTo('GET', '/plants', { headers: { authorization: `Bearer ${expired}` } })
      expect(answer).toMatchObject({ status: 401, error: 40103 })
    })

    test.each([
      ['read', 'POST', 'write'],
      ['write', 'GET', 'read'],
    ] as const)('with the scope %s alone may not %s', async (scope, method, needed) => {
      const limited = await service.createToken({ scopes: [scope] })
      const answer = await answerTo(method, '/plants', { headers: { authorization: `Bearer ${limited}` } })
      expect(answer).toMatchObject({ status: 403, error: 40301 })
      expect(answer.message).toBe(`The token lacks the scope "${needed}" that this operation needs.`)
      expect(answer.headers.get('www-authenticate')).toContain(`error="insufficient_scope", scope="${needed}"`)
    })
  })

  test('another path is a 404, another method a 405 with Allow, before the token is looked at', async () => {
    const nobody = { headers: { authorization: '' } }
    expect(await answerTo('GET', '/', nobody)).toMatchObject({ status: 404, error: 40400 })
    expect(await answerTo('GET', '/plants/', nobody)).toMatchObject({ status: 404, error: 40400 })
    expect(await answerTo('GET', '/Plants', nobody)).toMatchObject({ status: 404, error: 40400 })
    const answer = await answerTo('DELETE', '/plants', nobody)
    expect(answer).toMatchObject({ status: 405, error: 40500, message: 'This path takes GET, HEAD, OPTIONS, POST.' })
    expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS, POST')
  })

  test('a body that is too large is a 413, one of another media type a 415, in this order', async () => {
    const large = JSON.stringify({ id: 1, name: 'x'.repeat(2 ** 20) })
    expect(await post(large)).toMatchObject({ status: 413, error: 41300 })
    expect(await post(large, { 'content-type': 'text/plain' })).toMatchObject({ status: 413 })
    expect(await post('{', { 'content-type': 'text/plain' })).toMatchObject({ status: 415, error: 41500 })
    expect(await post('{}', { 'content-type': 'application/json; charset=utf-8' })).toMatchObject({ error: 40002 })
  })

  test('every answer has a request id and says that it is JSON', async () => {
    for (const answer of [await answerTo('GET', '/plants'), await post('{'), await answerTo('GET', '/')]) {
      expect(answer.headers.get('x-request-id')).toMatch(/^[\w.-]{1,64}$/)
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(answer.headers.get('cache-control')).toBe('no-store')
    }
  })

  test('every failure has a message that the SDK passes on', async () => {
    const client = createPlantStoreClient({ baseUrl: service.url, token, fetch: service.fetch })
    const { message } = await answerTo('GET', '/plants?limit=0')
    expect((await failureOf(client.getPlants({ limit: 0 }), ApiError)).message).toContain(`(40004): ${message}`)
  })
})
