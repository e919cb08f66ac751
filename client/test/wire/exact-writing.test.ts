/** Requests carry values exactly, or are not sent. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPlantStoreClient, type NewPlant, type PlantStoreClient, UsageError } from '../../src/index.ts'
import * as write from '../../src/wire/write.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { sendJson, startTinyServer, type TinyServer } from '../helpers/tiny-server.ts'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

let server: TinyServer
let client: PlantStoreClient
beforeAll(async () => {
  server = await startTinyServer((response) => sendJson(response, 200, { name: 'Ficus' }))
  client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
})
afterAll(() => server[Symbol.asyncDispose]())

async function sentBody(plant: NewPlant): Promise<string> {
  await client.createPlant(plant)
  return server.requests.at(-1)?.body ?? ''
}

/** Bypasses the types. */
function create(plant: unknown): Promise<unknown> {
  return client.createPlant(plant as NewPlant)
}

describe('an id', () => {
  const edges = [0n, 2n ** 31n, 2n ** 32n, 2n ** 53n, -(2n ** 53n), INT64_MAX, INT64_MIN]
  const nearAnEdge = fc.tuple(fc.constantFrom(...edges), fc.bigInt(-3n, 3n)).map(([edge, distance]) => edge + distance)

  test('is written exactly if it is an int64, and rejected otherwise', async () => {
    const property = fc.asyncProperty(fc.oneof(nearAnEdge, fc.bigInt(-(2n ** 65n), 2n ** 65n)), async (id) => {
      if (id >= INT64_MIN && id <= INT64_MAX) {
        expect(await sentBody({ id, name: '' })).toBe(`{"id":${id},"name":""}`)
      } else {
        expect((await failureOf(create({ id, name: '' }), UsageError)).message).toContain('id: must be between')
      }
    })
    await fc.assert(property, { numRuns: 60 })
  })

  test('may be a safe integer', async () => {
    const property = fc.asyncProperty(fc.maxSafeInteger(), async (id) => {
      expect(await sentBody({ id, name: '' })).toBe(`{"id":${BigInt(id)},"name":""}`)
    })
    await fc.assert(property, { numRuns: 30 })
    expect(await sentBody({ id: -0, name: '' })).toBe('{"id":0,"name":""}')
    expect(await sentBody({ id: 1e15, name: '' })).toBe('{"id":1000000000000000,"name":""}')
  })

  test.each([2 ** 53, -(2 ** 53), 1e21, Number.MAX_VALUE])('that is the unsafe number %d is rejected', async (id) => {
    const { message, attempts } = await failureOf(create({ id, name: '' }), UsageError)
    expect(message).toContain('id: must be a bigint or a safe integer')
    expect(attempts).toBe(0)
  })

  test.each([1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', null, true, [1], {}, new Date(), undefined])(
    'that is %s is rejected',
    async (id) => {
      expect((await failureOf(create({ id, name: '' }), UsageError)).message).toMatch(/: id: (must be|is required)/)
    },
  )
})

describe('a text', () => {
  test.each(['\uD800', 'a\uDC00b', '\uDC00\uD800', '\0', 'a\0b'])('%j is rejected', async (text) => {
    const reason = 'must not contain U+0000 or a lone surrogate'
    expect((await failureOf(create({ id: 1, name: text }), UsageError)).message).toContain(`name: ${reason}`)
    expect((await failureOf(create({ id: 1, name: '', tag: text }), UsageError)).message).toContain(`tag: ${reason}`)
  })

  test.each([1, null, true, {}, ['a']])('%j is rejected as not a string', async (name) => {
    expect((await failureOf(create({ id: 1, name }), UsageError)).message).toContain('name: must be a string')
    const asTag = await failureOf(create({ id: 1, name: '', tag: name }), UsageError)
    expect(asTag.message).toContain('tag: must be a string')
  })
})

describe('a plant', () => {
  test('without a tag is sent without a tag key', async () => {
    expect(await sentBody({ id: 1, name: 'Ficus', tag: undefined })).toBe('{"id":1,"name":"Ficus"}')
  })

  test('that is rejected is not sent, and the error names the URL', async () => {
    const before = server.requests.length
    const { message } = await failureOf(create({ id: 1 }), UsageError)
    expect(message).toBe(`POST ${server.url}/plants: name: is required`)
    expect(server.requests).toHaveLength(before)
  })
})

test.each<[value: unknown, reason: string, write: (value: unknown, field: string) => unknown]>([
  [Number.NaN, ': must be a number', write.number],
  [1.5, ': must be an integer', write.integer],
  ['yes', ': must be a boolean', write.boolean],
  ['c', ': must be one of a, b', write.oneOf('a', 'b')],
  ['a\nb', ': must be visible ASCII text', write.headerText],
  [' a', ': must be visible ASCII text', write.headerText],
  ['a', ': must be an array', write.each(write.text)],
  [['a', 'b'], '[1]: must be one of a', write.each(write.oneOf('a'))],
  [{ length: 0 }, ': must be an array', write.list(write.text)],
  [[{ born: '1' }], '[0].born: must be an integer', write.list(write.object({ born: write.integer }))],
  [{ 'a b': 0.5 }, '.a b: must be a bigint or a safe integer', write.record(write.int64)],
])('the value %o of a field that is something else is rejected: field%s', (value, reason, writer) => {
  expect(() => writer(value, 'field')).toThrow(`field${reason}`)
})
