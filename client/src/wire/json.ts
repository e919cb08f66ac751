/** Exact JSON: every int64 is a bigint in JavaScript and an integer in JSON, on engines that round it too. */
import { isObject, isPlain, rejectArgument, toInt64 } from '../values.ts'

/** Where int64s are: `true` where one is, or the fields that have some. A list has what its items have. */
export type Int64s = true | { readonly [field: string]: Int64s }

/**
 * Parses JSON with a bigint at each of these places. Where the engine has no source text for revivers, as Node.js 20,
 * that of a long integer is lost: so each becomes a text first, with a mark.
 *
 * @throws if the text is not JSON, or a number at such a place is not an integer, or one that
 *   was rounded, such as `1e30`
 */
export function readJson(text: string, int64s: Int64s): unknown {
  // U+0000, more often than at the start of any text.
  let mark = '\\u0000'
  while (text.includes(`"${mark}`)) mark += mark
  let inText = false
  let position = 0
  // A longer match would overflow the stack.
  const marked = text.replace(/[-+.\deE]{16,999}/g, (part, start: number) => {
    for (; position < start; position++) {
      if (text[position] === '"') inText = !inText
      else if (text[position] === '\\') position++
    }
    return inText || !/^-?[1-9]\d*$/.test(part) ? part : `"${mark}${part}"`
  })
  return convert(JSON.parse(marked), int64s, JSON.parse(`"${mark}"`))
}

/** Converts what was parsed: integers at the places of int64s to bigints, and other long integers back to numbers. */
function convert(value: unknown, int64s: Int64s | undefined, mark: string): unknown {
  const isMarked = typeof value === 'string' && value.startsWith(mark)
  if (isMarked) return (int64s === true ? BigInt : Number)(value.slice(mark.length))
  if (Array.isArray(value)) return value.map((item) => convert(item, int64s, mark))
  if (typeof value === 'number' && int64s === true) {
    if (!Number.isSafeInteger(value)) throw new RangeError('not an exact integer')
    return BigInt(value)
  }
  const fields = Object(value)
  if (fields !== value) return value
  // A copy: every object has a function `constructor`, whose `arguments` cannot be read.
  for (const name of Object.keys(fields)) fields[name] = convert(fields[name], { ...Object(int64s) }[name], mark)
  return fields
}

/** Returns why a value, apart from its parts, would not arrive as it is; undefined if it does. */
export function whyNotExact(value: unknown): string | undefined {
  // With the u flag a surrogate pair is one character, so only a lone surrogate matches.
  if (typeof value === 'string' && /[\0\uD800-\uDFFF]/u.test(value)) {
    return 'must not contain U+0000 or a lone surrogate'
  }
  // From 2^53 on every number is an integer, which may have been rounded.
  if (typeof value === 'number' && !(Math.abs(value) < 2 ** 53)) return 'must be a bigint or a safe integer'
  // An instance of a class, such as a `Date` or a `Map`, may have other fields than it seems.
  const isJson = isObject(value) ? isPlain(value) : !['function', 'symbol'].includes(typeof value)
  return isJson ? undefined : 'must be JSON'
}

/**
 * Writes a field as JSON, with every bigint as an integer: Node.js 20 and Safari before 18.4 lack `JSON.rawJSON`.
 *
 * @param path the name of the field, for errors
 * @returns undefined where the value is undefined
 * @throws {UsageError} if a part of it would not arrive as it is
 */
export function writeJson(value: unknown, int64s: Int64s | undefined, path: string): string | undefined {
  // An item that is nothing would be read as `null`, and a hole is one.
  const write = (item: unknown) => writeJson(item, int64s, path) ?? rejectArgument(path, 'must be JSON')
  if (Array.isArray(value)) return `[${Array.from(value, write)}]`
  const own = readValue(value, int64s, path)
  if (Object(own) !== own) return typeof own === 'bigint' ? String(own) : JSON.stringify(own)
  const members = Object.entries(own as object).flatMap(([name, part]) => {
    const text = writeJson(part, { ...Object(int64s) }[name], path)
    return text ? `${JSON.stringify(name)}:${text}` : []
  })
  return `{${members}}`
}

/** Writes a field as text, for a path or a query. */
export function writeText(value: unknown, int64s: Int64s | undefined, path: string): string {
  const own = readValue(value, int64s, path)
  if (own == null || Object(own) === own) rejectArgument(path, 'must be text, a number or a boolean')
  return encodeURIComponent(own as string)
}

/** Returns a value, with a bigint at the place of an int64. Rejects what would not arrive as it is. */
function readValue(value: unknown, int64s: Int64s | undefined, path: string): unknown {
  const isInt64 = int64s === true && value != null
  const own = isInt64 ? (toInt64(value) ?? rejectArgument(path, NOT_INT64)) : value
  const reason = whyNotExact(own)
  return reason ? rejectArgument(path, reason) : own
}

export const NOT_INT64 = 'must be a bigint, a safe integer or digits (int64)'
