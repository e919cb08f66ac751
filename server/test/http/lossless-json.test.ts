import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JsonSyntaxError, MAX_DEPTH, parseLosslessJson } from '../../src/http/request/lossless-json.ts'

/** Parses a text with JSON.parse; returns `JsonSyntaxError` if it throws. */
function builtIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return JsonSyntaxError
  }
}

function lossless(text: string): unknown {
  try {
    return parseLosslessJson(text)
  } catch (error) {
    if (error instanceof JsonSyntaxError) return JsonSyntaxError
    throw error
  }
}

/** Rounds every bigint of a value to a number, as JSON.parse does. */
function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, rounded(member)]))
}

test('JSON is parsed as by JSON.parse, but without rounding, and mutated JSON is rejected exactly if JSON.parse rejects it', () => {
  const fragments = fc.constantFrom(...'"\\{}[],:-.e01 \n\u0001', 'tru', 'null', '\\u12', '')
  const space = fc.constantFrom(undefined, 1, '\t')
  const change = [fc.json({ maxDepth: 6 }), space, fc.nat(), fc.nat({ max: 3 }), fragments] as const
  fc.assert(
    fc.property(...change, (json, indent, position, removed, inserted) => {
      const text = JSON.stringify(JSON.parse(json), null, indent)
      expect(rounded(parseLosslessJson(text))).toEqual(JSON.parse(text))
      const at = position % (text.length + 1)
      const changed = text.slice(0, at) + inserted + text.slice(at + removed)
      const isRejected = lossless(changed) === JsonSyntaxError
      // Only JSON.parse accepts duplicate keys.
      if (isRejected && builtIn(changed) !== JsonSyntaxError) expect(() => parseLosslessJson(changed)).toThrow(/key/)
      else expect(isRejected).toBe(builtIn(changed) === JsonSyntaxError)
    }),
    { numRuns: 3000 },
  )
})

test('every int64 is exact, also with a fraction or an exponent: a number if that is safe, else a bigint', () => {
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  fc.assert(
    fc.property(int64, fc.nat({ max: 30 }), fc.nat({ max: 30 }), (integer, shift, zeros) => {
      const digits = String(integer < 0n ? -integer : integer).padStart(shift + 1, '0')
      const whole = digits.slice(0, digits.length - shift)
      const fraction = digits.slice(digits.length - shift) + '0'.repeat(zeros)
      const literal = `${integer < 0n ? '-' : ''}${whole}${fraction ? `.${fraction}` : ''}e+${shift}`
      expect(BigInt(parseLosslessJson(literal) as number | bigint)).toBe(integer)
      expect(parseLosslessJson(String(integer))).toBe(Number.isSafeInteger(Number(integer)) ? Number(integer) : integer)
    }),
  )
  const read = ['9007199254740993', '1e2', '100e-2', '-0', '0e999', '0.000e-5'].map((text) => parseLosslessJson(text))
  expect(read.map((value) => BigInt(value as number | bigint))).toEqual([9007199254740993n, 100n, 1n, 0n, 0n, 0n])
})

test.each([
  ...['1.5', '0.1', '1e-1', '1.00000000000000000001', '1e-400', '9007199254740992.5', '1e400', '-1e400', '1e19'],
  ...['9'.repeat(20), `1${'0'.repeat(90_000)}`, '1e999999999999'],
])('a fraction, or a number far beyond int64, is not a safe integer', (literal) => {
  const read = parseLosslessJson(literal)
  expect(typeof read === 'bigint' ? BigInt.asIntN(64, read) === read : Number.isSafeInteger(read)).toBe(false)
})

test('nesting is accepted up to the limit and rejected beyond it', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  expect(parseLosslessJson(nested(MAX_DEPTH))).toEqual(JSON.parse(nested(MAX_DEPTH)))
  for (const depth of [MAX_DEPTH + 1, 50_000]) {
    expect(() => parseLosslessJson(nested(depth))).toThrow(/nested/)
    expect(() => parseLosslessJson('{"a":'.repeat(depth))).toThrow(/nested/)
  }
})

test('the message names the position, but no content', () => {
  expect(() => parseLosslessJson('{"secret" "x"}')).toThrow(/^(?!.*secret).*colon at character 11$/)
  expect(() => parseLosslessJson('')).toThrow(/JSON value.*ends/)
  expect(() => parseLosslessJson('{} {}')).toThrow(/end .*at character 4$/)
  expect(() => parseLosslessJson('["\\x"]')).toThrow(/invalid escape .* at character 2$/)
})
