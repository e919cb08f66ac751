import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { generateToken, hashToken, isWellFormedToken } from '../../src/accounts/token-format.ts'

test('a token is pst_, 43 characters of base62 and a checksum of 6, and is unique', () => {
  const tokens = Array.from({ length: 1000 }, generateToken)
  for (const token of tokens) {
    expect(token).toMatch(/^pst_[0-9A-Za-z]{49}$/)
    expect(isWellFormedToken(token)).toBe(true)
  }
  expect(new Set(tokens).size).toBe(tokens.length)
  // Its random bytes fill all characters.
  expect(new Set(tokens.map((token) => token[4])).size).toBeGreaterThan(40)
})

test('the checksum rejects a token with one character changed', () => {
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

test('a token has a checksum in CRC-32 of its prefix and 43 characters of base62', () => {
  // zlib.crc32(b"pst_" + b"0" * 43) in Python is 356373904, which is 0O7J8C in base62; with 160 at the end it is 1118115873.
  expect(isWellFormedToken(`pst_${'0'.repeat(43)}0O7J8C`)).toBe(true)
  expect(isWellFormedToken(`pst_${'0'.repeat(40)}1601DfV0z`)).toBe(true)
  // The checksums of these are valid.
  const others = [`xst_${'0'.repeat(43)}4FWDVK`, `xpst_${'0'.repeat(43)}4MK9fC`, `pst_${'0'.repeat(42)}-2AF5cP`]
  for (const text of [...others, `pst_${'0'.repeat(42)}4G457b`, `pst_${'0'.repeat(44)}05Om5g`]) {
    expect(isWellFormedToken(text), text).toBe(false)
  }
})

test('only the SHA-256 of a token is stored', () => {
  const token = generateToken()
  expect(hashToken(token)).toBe(createHash('sha256').update(token).digest('hex'))
})
