import { RequestError } from '../errors.ts'

/**
 * Writes a value as text: JSON in a body, plain text in a path, query or header.
 *
 * @param field the path of the value, for error messages; empty for the body itself
 * @throws RequestError if the value is invalid or cannot be sent exactly
 */
export type Writer = (value: unknown, field: string) => string

/** Rejects a value. */
export function reject(field: string, reason: string): never {
  throw new RequestError(`${field || 'body'}: ${reason}`)
}

export const text: Writer = (value, field) => {
  if (typeof value !== 'string') return reject(field, 'must be a string')
  // With the u flag a surrogate pair is one character, so only a lone surrogate matches.
  if (/[\0\uD800-\uDFFF]/u.test(value)) return reject(field, 'must not contain U+0000 or a lone surrogate')
  return value
}

export const boolean: Writer = (value, field) =>
  typeof value === 'boolean' ? String(value) : reject(field, 'must be a boolean')

export const number: Writer = (value, field) =>
  Number.isFinite(value) ? String(value) : reject(field, 'must be a number')

export const integer: Writer = (value, field) =>
  Number.isSafeInteger(value) ? String(value) : reject(field, 'must be an integer')

export const int64: Writer = (value, field) => {
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value))
    return reject(field, 'must be a bigint or a safe integer')
  const exact = BigInt(value as bigint)
  return BigInt.asIntN(64, exact) === exact
    ? String(exact)
    : reject(field, 'must be between -2^63 and 2^63 - 1 (int64)')
}

/** Creates a writer of a few values. */
export const oneOf =
  (...values: readonly unknown[]): Writer =>
  (value, field) =>
    values.includes(value) ? String(value) : reject(field, `must be one of ${values.join(', ')}`)
