import { RequestError } from '../errors.ts'
import type { Scalar, Shape } from './route.ts'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

/**
 * Writes a value as JSON, by its shape: each int64 digit by digit, fields that the shape does not have not at all.
 * `JSON.stringify` refuses bigints, and `JSON.rawJSON` is missing from Node.js 20 and from Safari.
 *
 * @param field where the value stands, for the message
 * @throws RequestError where a value has another shape or cannot be sent exactly
 */
export function writeJson(value: unknown, shape: Shape, field: string): string {
  if (typeof shape === 'string') {
    const text = writeScalar(value, shape, field)
    return shape === 'text' ? JSON.stringify(text) : text
  }
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return refuse(field, 'must be an array')
    return `[${value.map((item, index) => writeJson(item, shape[0], `${field}[${index}]`)).join()}]`
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(field, 'must be an object')
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
 * Writes a scalar as text, for the path or the query.
 *
 * @throws RequestError where it is not one or cannot be sent exactly
 */
export function writeScalar(value: unknown, scalar: Scalar, field: string): string {
  if (value === undefined) return refuse(field, 'is required')
  if (scalar === 'int64') return writeInt64(value, field)
  if (scalar === 'text') return checkText(value, field)
  if (scalar === 'boolean') return typeof value === 'boolean' ? String(value) : refuse(field, 'must be true or false')
  if (!Number.isFinite(value)) return refuse(field, 'must be a number')
  if (scalar === 'integer' && !Number.isSafeInteger(value)) return refuse(field, 'must be an integer')
  return String(value)
}

function writeInt64(value: unknown, field: string): string {
  if (typeof value === 'bigint') {
    return value >= INT64_MIN && value <= INT64_MAX
      ? String(value)
      : refuse(field, `must be between ${INT64_MIN} and ${INT64_MAX} (int64)`)
  }
  if (!Number.isInteger(value)) return refuse(field, 'must be an integer: a bigint or a safe integer number')
  if (Number.isSafeInteger(value)) return String(value)
  return refuse(field, 'is a number beyond 2^53 - 1, where numbers are rounded; give a bigint')
}

function checkText(value: unknown, field: string): string {
  if (typeof value !== 'string') return refuse(field, 'must be a string')
  // With the flag u a pair of surrogates is one character, so that only a lone one matches.
  if (/[\0\uD800-\uDFFF]/u.test(value)) return refuse(field, 'must not contain U+0000 or a lone surrogate')
  return value
}

function refuse(field: string, reason: string): never {
  throw new RequestError(`${field}: ${reason}`)
}
