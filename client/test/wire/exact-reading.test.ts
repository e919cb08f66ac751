/**
 * What is written in another way, and everything that is not an int64, as `JSON.parse` reads it. The tests of the grown
 * contract have every edge and every place of an int64.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codePoint } from '../../../test/helpers/code-points.ts'
import { exactly } from '../../src/wire/read-exactly.ts'

describe('an int64', () => {
  test.each(['1e3', '1.0', '-0', '2.00E+2'])('may be written as %s, which is an integer', (text) => {
    expect(exactly('int64')(text)).toBe(BigInt(Number(text)))
  })

  test.each([
    ...['1.5', '1.5e1', '0.99999999999999999', '1e-400', '9007199254740990.6', '9007199254740993e0', '1e20'],
    ...['9223372036854775808', '-9223372036854775809', '9'.repeat(10_000)],
  ])('%s is rejected', (text) => {
    expect(() => exactly('int64')(text)).toThrow('must be an int64')
  })

  test.each(['null', '"9007199254740993"', '[]', '{}'])('can be replaced by %s in a union', (text) => {
    for (const places of ['int64', ['int64'], { '*': 'int64' }] as const) {
      expect(exactly(places)(text)).toEqual(JSON.parse(text))
    }
  })
})

test('what has no int64 is read as JSON.parse reads it', () => {
  const spaces = fc.constantFrom('', ' ', '\n', '\t\r\n ')
  const texts = fc.tuple(fc.json({ stringUnit: codePoint }), fc.constantFrom(undefined, 1, '\t'), spaces)
  const property = fc.property(texts, ([text, indent, space]) => {
    const formatted = space + JSON.stringify(JSON.parse(text), undefined, indent) + space
    expect(exactly({ absent: 'int64' })(formatted)).toEqual(JSON.parse(text))
  })
  fc.assert(property, { numRuns: 300 })
})

test.each([
  '["\\\\\\"", "\\u0022", ",]}{[:"]',
  '{"__proto__":{"id":1},"id":2,"id":3}',
  '{"constructor":1,"toString":2,"*":3,"":4}',
  '[[],{},[[{}]],"",0,-1.5e-7,1e400]',
])('%s is read as JSON.parse reads it', (text) => {
  const value = exactly({ id: ['int64'] })(text)
  expect(value).toEqual(JSON.parse(text))
  expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)))
})

test('a field of a record may have the name of one of Object.prototype, and no other form of a union has its int64s', () => {
  expect(exactly({ '*': 'int64' })('{"constructor":1,"id":2}')).toEqual({ constructor: 1n, id: 2n })
  expect(exactly({ '*': 'int64' })('[1]')).toEqual([1])
  expect(exactly(['int64'])('{"a":1}')).toEqual({ a: 1 })
})

test('text of many megabytes is read', () => {
  const name = 'a\\"'.repeat(1_000_000)
  const read = exactly([{ id: 'int64' }])(`[{"name":"${name}","id":9007199254740993}]`)
  expect(read).toEqual([{ name: JSON.parse(`"${name}"`), id: 9007199254740993n }])
})
