/** Requests carry values exactly, or are not sent. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type NewPlant, UsageError } from '../../src/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { sendJson, startTinyServer, type TinyServer } from '../helpers/tiny-server.ts'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

let server: TinyServer
beforeAll(async () => {
  server = await startTinyServer((response) => sendJson(response, 200, { name: 'Ficus' }))
})
afterAll(() => server[Symbol.asyncDispose]())

/** Creates a plant of any type, and returns the body that was sent. */
async function sentBody(plant: unknown): Promise<string | undefined> {
  await server.createClient().createPlant(plant as NewPlant)
  return server.requests.at(-1)?.body
}

test('an id is written exactly if it is an int64, and rejected otherwise', async () => {
  const edges = [0n, 2n ** 31n, 2n ** 32n, 2n ** 53n, -(2n ** 53n), INT64_MAX, INT64_MIN]
  const nearAnEdge = fc.tuple(fc.constantFrom(...edges), fc.bigInt(-3n, 3n)).map(([edge, distance]) => edge + distance)
  const ids = fc.oneof(nearAnEdge, fc.bigInt(-(2n ** 65n), 2n ** 65n), fc.maxSafeInteger(), fc.constantFrom(-0, 1e15))
  const property = fc.asyncProperty(ids, async (id) => {
    const sent = sentBody({ id, name: '', tag: undefined })
    if (id >= INT64_MIN && id <= INT64_MAX) expect(await sent).toBe(`{"id":${BigInt(id)},"name":""}`)
    else expect((await failureOf(sent, UsageError)).message).toContain('id: must be between')
  })
  await fc.assert(property, { numRuns: 100 })
})

const ids = [2 ** 53, -(2 ** 53), 1.5, Number.NaN, '1', null]
const unsafeTexts = ['\uD800', 'a\uDC00b', '\uDC00\uD800', '\0']
const notTexts = [1, null, ['a']]
const bodies: Record<string, unknown[]> = {
  'id: must be a bigint or a safe integer': ids.map((id) => ({ id, name: '' })),
  'id: is required': [{ name: 'Ficus' }, { id: undefined, name: 'Ficus' }],
  'name: is required': [{ id: 1 }],
  'name: must not contain U+0000 or a lone surrogate': unsafeTexts.map((name) => ({ id: 1, name })),
  'tag: must not contain U+0000 or a lone surrogate': unsafeTexts.map((tag) => ({ id: 1, name: '', tag })),
  'name: must be a string': notTexts.map((name) => ({ id: 1, name })),
  'tag: must be a string': notTexts.map((tag) => ({ id: 1, name: '', tag })),
  'tags: is not one of id, name, tag': [{ id: 1, name: 'Ficus', tags: 'fig' }],
  'toJSON: is not one of id, name, tag': [{ id: 1, name: 'Ficus', toJSON() {} }],
  'body: must be an object of id, name, tag, not Map': [new Map()],
  'body: must be an object': [undefined, null, 'Ficus', 1n, []],
}
test.each(Object.entries(bodies))('%s: a body is not sent, and the error names the URL', async (detail, values) => {
  const before = server.requests.length
  for (const body of values) {
    const { message, attempts } = await failureOf(sentBody(body), UsageError)
    expect([body, message, attempts]).toEqual([body, `POST ${server.url}/plants: ${detail}`, 0])
  }
  expect(server.requests).toHaveLength(before)
})
