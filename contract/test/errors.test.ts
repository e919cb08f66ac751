import { expect, test } from 'vitest'
import { ErrorSchema, errorCatalogue, statusOf } from '../src/index.ts'

const entries = Object.entries(errorCatalogue)

test('every error code is a unique int32: an HTTP error status x 100 plus a small number', () => {
  for (const [name, { code }] of entries) {
    const status = statusOf(name as keyof typeof errorCatalogue)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(600)
    expect(code - status * 100).toBeLessThan(100)
    expect(ErrorSchema.parse({ error: code, message: '' }).error).toBe(code)
  }
  expect(new Set(entries.map(([, { code }]) => code)).size).toBe(entries.length)
})

// A new code is added here; none is ever changed.
test('the error codes that clients rely on never change', () => {
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
})

test('every reason is a full sentence', () => {
  for (const [, { reason }] of entries) expect(reason).toMatch(/^[A-Z].{20,}\.$/s)
})

test('an Error is an int32 and a text', () => {
  expect(ErrorSchema.safeParse({ error: 2 ** 31, message: '' }).success).toBe(false)
  expect(ErrorSchema.safeParse({ error: '40001', message: '' }).success).toBe(false)
  expect(ErrorSchema.safeParse({ error: 40001 }).success).toBe(false)
})
