/** Ids in JavaScript and in a path. The server's tests of bodies, and its fuzzer, show what a plant may be as JSON. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Int64Schema, Int64TextSchema } from '../src/contract.ts'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n
const NOT_INT64 = 'must be an integer between -9223372036854775808 and 9223372036854775807 (int64)'
const int64 = fc.bigInt({ min: INT64_MIN, max: INT64_MAX })

test('an id is a safe integer or a bigint, and nothing is coerced to it', () => {
  for (const id of [INT64_MIN, INT64_MAX, 2 ** 53 - 1]) expect(Int64Schema.parse(id)).toBe(BigInt(id))
  const others = [INT64_MAX + 1n, INT64_MIN - 1n, 1.5, 2 ** 53, Number.NaN, '1', true, null, [5], {}]
  for (const other of others) expect(Int64Schema.safeParse(other).error?.issues[0]?.message).toBe(NOT_INT64)
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
