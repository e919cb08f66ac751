import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { generateToken, hashToken, isWellFormedToken } from '../../src/accounts/token-format.ts'
import { formatDuration, parseDuration } from '../../src/settings/duration.ts'

test('a token is pst_, 43 characters of base62 and a checksum of 6, and no two are the same', () => {
  const tokens = Array.from({ length: 1000 }, generateToken)
  for (const token of tokens) {
    expect(token).toMatch(/^pst_[0-9A-Za-z]{49}$/)
    expect(isWellFormedToken(token)).toBe(true)
  }
  expect(new Set(tokens).size).toBe(tokens.length)
})

test('a token with any one character changed is refused by its checksum', () => {
  const token = generateToken()
  fc.assert(
    fc.property(fc.nat({ max: token.length - 1 }), fc.string({ minLength: 1, maxLength: 1 }), (at, character) => {
      fc.pre(token[at] !== character)
      expect(isWellFormedToken(token.slice(0, at) + character + token.slice(at + 1))).toBe(false)
    }),
    { numRuns: 500 },
  )
  expect(isWellFormedToken(token.slice(0, -1))).toBe(false)
  expect(isWellFormedToken(`${token}0`)).toBe(false)
})

test('the checksum is the CRC-32 that other programs compute', () => {
  // zlib.crc32(b"pst_" + b"0" * 43) in Python is 356373904, which is 0O7J8C in base62.
  expect(isWellFormedToken(`pst_${'0'.repeat(43)}0O7J8C`)).toBe(true)
})

test('what is stored of a token is its SHA-256', () => {
  const token = generateToken()
  expect(hashToken(token)).toBe(createHash('sha256').update(token).digest('hex'))
})

test.each([
  ['250ms', 250],
  ['30s', 30_000],
  ['15m', 900_000],
  ['12h', 43_200_000],
  ['90d', 7_776_000_000],
])('%s is a duration', (text, milliseconds) => {
  expect(parseDuration(text, '90d')).toBe(milliseconds)
  expect(formatDuration(milliseconds)).toBe(text)
})

test.each(['', '0s', '-1d', '1', 'd', '1w', '1.5h', ' 1h', '1h ', '1h1m', '91d', '9999999999d'])(
  '%j is no duration of at most 90 days',
  (text) => {
    expect(parseDuration(text, '90d')).toBeUndefined()
  },
)
