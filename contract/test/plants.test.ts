import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codePoint } from '../../test/helpers/code-points.ts'
import { Int64TextSchema, NewPlantSchema, PlantSchema } from '../src/index.ts'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n
const NOT_INT64 = 'must be an integer between -9223372036854775808 and 9223372036854775807 (int64)'

function isAccepted(id: unknown): boolean {
  return NewPlantSchema.safeParse({ id, name: 'Ficus' }).success
}

function firstMessage(input: unknown): string | undefined {
  return NewPlantSchema.safeParse(input).error?.issues[0]?.message
}

test('an id is any int64, a safe integer or a bigint, and is parsed to the same bigint', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: INT64_MIN, max: INT64_MAX }), (id) => {
      expect(NewPlantSchema.parse({ id, name: '' }).id).toBe(id)
    }),
  )
  fc.assert(
    fc.property(fc.maxSafeInteger(), (id) => {
      expect(NewPlantSchema.parse({ id, name: '' }).id).toBe(BigInt(id))
    }),
  )
})

test.each([
  [INT64_MIN, -1n],
  [INT64_MAX, 1n],
])('the id %s is accepted, those beyond it are rejected', (id, step) => {
  expect(isAccepted(id)).toBe(true)
  for (const distance of [1n, 2n, 1000n, 2n ** 63n, 2n ** 64n]) {
    expect(firstMessage({ id: id + step * distance, name: 'Ficus' })).toBe(NOT_INT64)
  }
})

test.each([[1.5], [2 ** 53], [Number.NaN], [1 / 0], ['1'], [''], [true], [null], [[5]], [{}], [undefined]])(
  'the id %j is rejected, never coerced',
  (id) => {
    expect(isAccepted(id)).toBe(false)
    expect(firstMessage({ id, name: 'Ficus' })).toBe(NOT_INT64)
  },
)

describe('an int64 in a path or query', () => {
  test('has one form: that of String(bigint)', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: INT64_MIN, max: INT64_MAX }), (id) => {
        expect(Int64TextSchema.parse(String(id))).toBe(id)
        expect(Int64TextSchema.encode(id)).toBe(String(id))
      }),
    )
  })

  const edges = [String(INT64_MAX + 1n), String(INT64_MIN - 1n), '9'.repeat(19), '1'.repeat(100)]
  const forms = ' |0x10|0b1|+16| 16|16 |016|-0|00|1.0|1e2|١|1_000|16n|NaN'.split('|')
  test.each([...edges, ...forms, '', ['16'], 16, 16n, null, undefined])('is not "%s"', (text) => {
    const { error } = Int64TextSchema.safeParse(text)
    expect(error?.issues.map(({ message }) => message)).toEqual([NOT_INT64])
  })
})

test('a name and a tag are any Unicode text', () => {
  const text = fc.string({ unit: codePoint, maxLength: 100 })
  fc.assert(
    fc.property(text, text, (name, tag) => {
      expect(NewPlantSchema.parse({ id: 1, name, tag })).toEqual({ id: 1n, name, tag })
    }),
  )
})

test.each(['\0', 'a\0b', '\ud800', 'a\udc00b', '\udc00\ud800'])(
  'the text %j is rejected because not every database stores it',
  (text) => {
    expect(firstMessage({ id: 1, name: text })).toBe('must not contain U+0000 or a lone surrogate')
    expect(NewPlantSchema.safeParse({ id: 1, name: 'Ficus', tag: text }).success).toBe(false)
  },
)

test('a text of 64 MiB is checked completely, without a stack overflow', () => {
  const long = 'ж'.repeat(2 ** 25)
  expect(NewPlantSchema.safeParse({ id: 1, name: long }).success).toBe(true)
  expect(firstMessage({ id: 1, name: `${long}\ud800` })).toBe('must not contain U+0000 or a lone surrogate')
})

test('name is required; tag is text or absent, never null', () => {
  expect(firstMessage({ id: 1 })).toBe('is required')
  expect(firstMessage({ id: 1, name: 5 })).toBe('must be a string')
  expect(firstMessage({ id: 1, name: 'Ficus', tag: null })).toBe('must be a string')
  expect(NewPlantSchema.parse({ id: 1, name: 'Ficus' })).toEqual({ id: 1n, name: 'Ficus' })
})

test('unknown fields are ignored, and a Plant has no id', () => {
  expect(NewPlantSchema.parse({ id: 1, name: 'Ficus', height: 3 })).toEqual({ id: 1n, name: 'Ficus' })
  expect(PlantSchema.parse({ id: 1, name: 'Ficus' })).toEqual({ name: 'Ficus' })
})

test.each([[null], [5], ['x'], [[]], [undefined]])('the body %j is rejected because it is not an object', (body) => {
  expect(firstMessage(body)).toBe('must be an object')
  expect(PlantSchema.safeParse(body).error?.issues[0]?.message).toBe('must be an object')
})
