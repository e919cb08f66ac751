/** A union is written without losing a field, and an array without holes. */
import { expect, test } from 'vitest'
import { RequestError } from '../../src/index.ts'
import { list, object, quoted, union } from '../../src/wire/write-json.ts'
import { int64, oneOf, text } from '../../src/wire/write-scalar.ts'

const place = union(
  object({ kind: quoted(oneOf('shelf')), room: quoted(text) }),
  object({ kind: quoted(oneOf('lent')), to: union(int64, quoted(text)) }, { room: quoted(text) }),
)
const key = union(object({ id: int64 }), object({ slug: quoted(text) }, { note: quoted(text) }))

test.each([
  [{ kind: 'shelf', room: 'a' }, '{"kind":"shelf","room":"a"}'],
  [{ kind: 'lent', to: 9007199254740993n, room: 'a' }, '{"kind":"lent","to":9007199254740993,"room":"a"}'],
  [{ kind: 'lent', to: '5' }, '{"kind":"lent","to":"5"}'],
])('%o is written as the alternative that it fits', (value, json) => {
  expect(place(value, '')).toBe(json)
})

test.each([
  [{ slug: 'abc', note: 'x', other: 1 }, '{"slug":"abc","note":"x"}'],
  [{ id: 5n, slug: undefined }, '{"id":5}'],
])('of alternatives that fit %o, the one with all fields is written', (value, json) => {
  expect(key(value, '')).toBe(json)
})

test('a value with fields of several alternatives is rejected, however long they are', () => {
  for (const slug of ['a', 'a'.repeat(100)]) {
    expect(() => key({ id: 5n, slug }, 'key')).toThrow(RequestError)
    expect(() => key({ id: 5n, slug }, 'key')).toThrow('key: has fields of several alternatives')
  }
})

test('a value that fits no alternative is rejected with the reason of each', () => {
  expect(() => key({}, 'key')).toThrow('key: fits no alternative (key.id: is required; key.slug: is required)')
})

test('a hole in an array is a missing item', () => {
  // biome-ignore lint/suspicious/noSparseArray: that is what is tested
  expect(() => list(int64)([1, , 3], 'ids')).toThrow('ids[1]: must be a bigint or a safe integer')
})
