import { expect, test } from 'vitest'
import { type ErrorName, ErrorSchema, errorCatalogue, statusOf } from '../src/index.ts'

const entries = Object.entries(errorCatalogue)

// A new code is added here; none is ever changed.
test('the error codes that clients rely on never change, and each reason is a full sentence', () => {
  expect(Object.fromEntries(entries.map(([name, { code }]) => [name, code]))).toEqual({
    badRequest: 40000,
    malformedJson: 40001,
    invalidBody: 40002,
    idTaken: 40003,
    invalidQuery: 40004,
    tokenMissing: 40101,
    tokenInvalid: 40102,
    tokenEnded: 40103,
    scopeMissing: 40301,
    notFound: 40400,
    methodNotAllowed: 40500,
    requestTimeout: 40800,
    bodyTooLarge: 41300,
    unsupportedMediaType: 41500,
    expectationFailed: 41700,
    tooManyRequests: 42900,
    headersTooLarge: 43100,
    internal: 50000,
    unavailable: 50300,
  })
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
