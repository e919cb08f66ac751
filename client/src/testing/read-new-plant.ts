import type { StoredPlant } from './fake-plant-store.ts'
import { Failure } from './response.ts'

/** An integer that a number may round; one of more digits is no int64 however it is rounded. */
const LARGE_INTEGER = /^-?\d{16,19}$/
/** An escape, a quote or a number. Not a whole string: a repeated group overflows the stack on a long one. */
const TOKEN = /\\.|"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
/** Marks a number that became a string. Texts with U+0000 are refused, so that none looks like one. */
const MARK = '\0'

/**
 * Reads the body of a request to create a plant, its id exactly. A key that is given twice is not noticed: the client
 * never sends one.
 *
 * @throws Failure
 */
export function readNewPlant(body: string): StoredPlant {
  const value = parseExactly(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Failure('invalidBody', 'The body must be an object')
  }
  const { id, name, tag } = value as Record<string, unknown>
  const problems = [
    describeId(id),
    describeText('name', name),
    tag === undefined ? [] : describeText('tag', tag),
  ].flat()
  if (problems.length > 0) throw new Failure('invalidBody', problems.join('; '))
  const plant = { id: toBigInt(id), name: String(name) }
  return tag === undefined ? plant : { ...plant, tag: String(tag) }
}

function parseExactly(body: string): unknown {
  try {
    return JSON.parse(markLargeIntegers(body))
  } catch {
    throw new Failure('malformedJson', 'The body is not JSON that can be read.')
  }
}

function markLargeIntegers(body: string): string {
  let inString = false
  return body.replace(TOKEN, (token) => {
    if (token === '"') inString = !inString
    return !inString && LARGE_INTEGER.test(token) ? JSON.stringify(MARK + token) : token
  })
}

function toBigInt(id: unknown): bigint {
  return BigInt(typeof id === 'string' ? id.slice(MARK.length) : Number(id))
}

function describeId(id: unknown): string[] {
  const isLarge = typeof id === 'string' && id.startsWith(MARK)
  const isInt64 = (isLarge || Number.isInteger(id)) && BigInt.asIntN(64, toBigInt(id)) === toBigInt(id)
  return isInt64 ? [] : [`id: must be an integer between ${-(2n ** 63n)} and ${2n ** 63n - 1n} (int64)`]
}

function describeText(field: string, value: unknown): string[] {
  if (value === undefined) return [`${field}: is required`]
  if (typeof value !== 'string') return [`${field}: must be a string`]
  return /[\0\uD800-\uDFFF]/u.test(value) ? [`${field}: must not contain U+0000 or a lone surrogate`] : []
}
