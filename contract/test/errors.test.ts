import { expect, test } from 'vitest'
import { type ErrorName, errorCatalogue, statusOf } from '../src/errors.ts'

const entries = Object.entries(errorCatalogue)

test('an error has a code of its own, and its reason is a full sentence', () => {
  expect(new Set(entries.map(([, { code }]) => code))).toHaveProperty('size', entries.length)
  for (const [name, { code, reason }] of entries) {
    expect(statusOf(name as ErrorName)).toBe(Math.floor(code / 100))
    expect(reason).toMatch(/^[A-Z].{20,}\.$/s)
  }
})
