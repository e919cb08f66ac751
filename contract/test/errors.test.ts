import { expect, test } from 'vitest'
import { type ErrorName, ErrorSchema, errorCatalogue, statusOf } from '../src/errors.ts'

const entries = Object.entries(errorCatalogue)

test('an error has a code of its own, and its reason is a full sentence', () => {
  expect(new Set(entries.map(([, { code }]) => code))).toHaveProperty('size', entries.length)
  for (const [name, { code, reason }] of entries) {
    expect(statusOf(name as ErrorName)).toBe(Math.floor(code / 100))
    expect(reason).toMatch(/^[A-Z].{20,}\.$/s)
  }
})

test('an Error is an int32 and a text', () => {
  expect(ErrorSchema.safeParse({ error: 2 ** 31, message: '' }).success).toBe(false)
  expect(ErrorSchema.safeParse({ error: '40001', message: '' }).success).toBe(false)
  expect(ErrorSchema.safeParse({ error: 40001 }).success).toBe(false)
})
