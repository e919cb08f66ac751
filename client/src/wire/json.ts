import { RequestError } from '../errors.ts'
import type { Scalar, Shape } from './route.ts'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

/**
 * Writes a value as JSON of the given shape, without the fields that the shape does not have. `JSON.stringify` throws on
 * bigints, and Node.js 20 and Safari lack `JSON.rawJSON`.
 *
 * @param field the path of the value, for error messages
 * @throws RequestError if the value does not have the shape or cannot be sent exactly
 */
export function writeJson(value: unknown, shape: Shape, field: string): string {
  if (typeof shape === 'string') {
    const text = writeScalar(value, shape, field)
    return shape === 'text' ? JSON.stringify(text) : text
  }
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return reject(field, 'must be an array')
    return `[${value.map((item, index) => writeJson(item, shape[0], `${field}[${index}]`)).join()}]`
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return reject(field, 'must be an object')
  const fields: string[] = []
  for (const [key, fieldShape] of Object.entries(shape)) {
    const name = key.replace('?', '')
    const fieldValue = (value as Record<string, unknown>)[name]
    if (fieldValue === undefined && name !== key) continue
    fields.push(
      `${JSON.stringify(name)}:${writeJson(fieldValue, fieldShape, field === 'body' ? name : `${field}.${name}`)}`,
    )
  }
  return `{${fields.join()}}`
}

/**
 * Writes a scalar as text.
 *
 * @throws RequestError if the value is not such a scalar or cannot be sent exactly
 */
export function writeScalar(value: unknown, scalar: Scalar, field: string): string {
  if (value === undefined) return reject(field, 'is required')
  if (scalar === 'int64') return writeInt64(value, field)
  if (scalar === 'text') return checkText(value, field)
  if (scalar === 'boolean') return typeof value === 'boolean' ? String(value) : reject(field, 'must be a boolean')
  if (!Number.isFinite(value)) return reject(field, 'must be a number')
  if (scalar === 'integer' && !Number.isSafeInteger(value)) return reject(field, 'must be an integer')
  return String(value)
}

function writeInt64(value: unknown, field: string): string {
  if (typeof value === 'bigint') {
    return value >= INT64_MIN && value <= INT64_MAX
      ? String(value)
      : reject(field, `must be between ${INT64_MIN} and ${INT64_MAX} (int64)`)
  }
  if (!Number.isInteger(value)) return reject(field, 'must be an integer: a bigint or a safe integer')
  if (Number.isSafeInteger(value)) return String(value)
  return reject(field, 'is a number outside the safe integer range; use a bigint')
}

function checkText(value: unknown, field: string): string {
  if (typeof value !== 'string') return reject(field, 'must be a string')
  // With the u flag a surrogate pair is one character, so only a lone surrogate matches.
  if (/[\0\uD800-\uDFFF]/u.test(value)) return reject(field, 'must not contain U+0000 or a lone surrogate')
  return value
}

function reject(field: string, reason: string): never {
  throw new RequestError(`${field}: ${reason}`)
}
