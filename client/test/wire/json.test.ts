/** Exact JSON: every int64 arrives as the bigint that was sent, and nothing else changes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { codePoint } from '../../../test/helpers/code-points.ts'
import { runs } from '../../../test/helpers/long-tests.ts'
import { stringify } from '../../../test/helpers/operations.ts'
import { orUndefined } from '../../src/values.ts'
import { readJson, writeJson } from '../../src/wire/json.ts'

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const edges = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 10n ** 15n, -(10n ** 15n), 0n]
// The V8 of Node.js 24 reads a key that is one escaped character as a backslash, once an object with the same keys before it
// had that one.
const name = fc
  .oneof(fc.constantFrom('id', '__proto__', 'constructor', 'a.b', '9007199254740993', '\0\0'), fc.string())
  .filter((key) => JSON.stringify(key).length === key.length + 2 || key.length > 1)
/** Texts that look like what is replaced. */
const text = fc.oneof(
  fc.constantFrom('12345678901234567890', '\0', '\u00009007199254740993', '\0\0\0\u00009007199254740993', '\\', '\\"'),
  fc.tuple(fc.constantFrom('"', '\\"', ':', ',', '[', 'e', '\\'), int64).map(([start, id]) => `${start}${id}${start}`),
  fc.string({ unit: codePoint }),
)
// JSON has no -0, NaN and Infinity.
const number = fc.double().map((value) => JSON.parse(JSON.stringify(value)))
const other = fc.oneof(text, number, fc.integer(), fc.boolean())

const ids = fc.oneof(int64, fc.constantFrom(...edges))
const object = fc.dictionary(name, fc.oneof(other, ids), { maxKeys: 4 })

test('an int64 in any field is read as it is written, and everything else as JSON reads and writes it', () => {
  const property = fc.property(object, fc.constantFrom('', ' ', '\n\t'), (value, space) => {
    const names = Object.keys(value).filter((key) => typeof value[key] === 'bigint')
    const int64s = Object.fromEntries(names.map((key) => [key, true] as const))
    // What an object in a field has is not in the contract.
    const json = String(stringify([value, { '': [value] }], space))
    const [rounded] = JSON.parse(json)
    expect(readJson(json, int64s)).toEqual([value, { '': [rounded] }])
    expect([stringify(value), undefined]).toContain(orUndefined(() => writeJson(value, 'value')))
  })
  fc.assert(property, { numRuns: runs(1_000) })
})

const MAX = '9223372036854775807'
test.each([
  ['-0', 0n],
  ['1.0', 1n],
  ['1e3', 1000n],
  [MAX, 2n ** 63n - 1n],
  ['null', null],
  [`"${MAX}"`, MAX],
  [`"\\\\\\"${MAX}"`, `\\"${MAX}`],
  ['1.5', undefined],
  ['1e30', undefined],
  [`0${MAX}`, undefined],
  [`+${MAX}`, undefined],
  [`${MAX}x`, undefined],
])('%s in a field of int64s is %s, or an error instead of a rounded number', (json, expected) => {
  const read = () => readJson(`[{"id":${json}}]`, { id: true })
  if (expected === undefined) expect(read).toThrow()
  else expect(read()).toStrictEqual([{ id: expected }])
})

test.each(['1', '\\"'])('a long text of %s is read, which a pattern could overflow the stack with', (part) => {
  const json = `{"id":${MAX},"text":"${part.repeat(2 ** 23)}"}`
  expect(readJson(json, { id: true })).toEqual({ id: 2n ** 63n - 1n, text: JSON.parse(json).text })
})
