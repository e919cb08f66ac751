/** What the schemas accept, and their messages. The fuzzer of the server has every spelling and text. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Int64TextSchema, NewPlantSchema, PlantSchema } from '../src/contract.ts'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n
const NOT_INT64 = 'must be an integer between -9223372036854775808 and 9223372036854775807 (int64)'
const NOT_TEXT = 'must not contain U+0000 or a lone surrogate'
const int64 = fc.bigInt({ min: INT64_MIN, max: INT64_MAX })

function firstMessage(input: unknown): string | undefined {
  return NewPlantSchema.safeParse(input).error?.issues[0]?.message
}

test('an id is any int64, a safe integer or a bigint, and is parsed to the same bigint', () => {
  fc.assert(
    fc.property(fc.oneof(int64, fc.constantFrom(INT64_MIN, INT64_MAX), fc.maxSafeInteger()), (id) => {
      expect(NewPlantSchema.parse({ id, name: '' })).toEqual({ id: BigInt(id), name: '' })
    }),
  )
})

const ids = [INT64_MAX + 1n, INT64_MIN - 1n, 1.5, 2 ** 53, Number.NaN, 1 / 0, '1', true, null, [5], {}]
const texts = ['\0', 'a\0b', '\ud800', 'a\udc00b', '\udc00\ud800', `${'ж'.repeat(2 ** 24)}\ud800`]
test.each<[message: string, plants: unknown[]]>([
  [NOT_INT64, ids.map((id) => ({ id, name: 'Ficus' }))],
  [NOT_TEXT, texts.flatMap((text) => [{ id: 1, name: text }, { id: 1, name: '', tag: text }])], // biome-ignore format: one line
  ['is required', [{ id: 1 }, { name: '' }]],
  ['must be a string', [{ id: 1, name: 5 }, { id: 1, name: 'Ficus', tag: null }]], // biome-ignore format: one line
  ['must be an object', [null, 5, 'x', [], undefined]],
])('%s: what is invalid is rejected, never coerced, and long text without a stack overflow', (message, plants) => {
  for (const plant of plants) expect(firstMessage(plant)).toBe(message)
})

test('long text is accepted, unknown fields are ignored, and a Plant has no id', () => {
  const name = 'ж'.repeat(2 ** 24)
  expect(NewPlantSchema.parse({ id: 1, name, height: 3 })).toEqual({ id: 1n, name })
  expect(PlantSchema.parse({ id: 1, name: 'Ficus' })).toEqual({ name: 'Ficus' })
  expect(PlantSchema.safeParse(null).error?.issues[0]?.message).toBe('must be an object')
})

test('an int64 in a path or query has one form: that of String(bigint)', () => {
  fc.assert(
    fc.property(int64, (id) => {
      expect(Int64TextSchema.parse(String(id))).toBe(id)
      expect(Int64TextSchema.encode(id)).toBe(String(id))
    }),
  )
  const edges = [String(INT64_MAX + 1n), String(INT64_MIN - 1n), '9'.repeat(19), '1'.repeat(100)]
  const forms = ' |0x10|0b1|+16| 16|16 |016|-0|00|1.0|1e2|١|1_000|16n|NaN'.split('|')
  for (const text of [...edges, ...forms, '', ['16'], 16, 16n, null, undefined]) {
    const { error } = Int64TextSchema.safeParse(text)
    expect([text, error?.issues.map(({ message }) => message)]).toEqual([text, [NOT_INT64]])
  }
})
