/** Exact JSON: every int64 is a bigint in JavaScript and an integer in JSON, on engines that round it too. */
import { isObject, isPlain, rejectArgument, toInt64 } from '../values.ts'

/** The fields that are int64s: of an object, or of the objects of a list. */
export type Int64s = Readonly<Record<string, true>>

/**
 * Parses JSON with a bigint for each of these fields. Where the engine has no source text for revivers, as Node.js 20,
 * that of a long integer is lost: so each becomes a text first, with a mark.
 *
 * @throws if the text is not JSON, or a number of such a field is not an integer, or one that
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
  return convert(JSON.parse(marked), JSON.parse(`"${mark}"`), int64s)
}

/** Converts what was parsed: integers that are int64s to bigints, and other long integers back to numbers. */
function convert(value: unknown, mark: string, int64s: Int64s, isInt64 = false): unknown {
  const isMarked = typeof value === 'string' && value.startsWith(mark)
  if (isMarked) return (isInt64 ? BigInt : Number)(value.slice(mark.length))
  if (Array.isArray(value)) return value.map((item) => convert(item, mark, int64s))
  if (typeof value === 'number' && isInt64) {
    if (!Number.isSafeInteger(value)) throw new RangeError('not an exact integer')
    return BigInt(value)
  }
  const fields = Object(value)
  if (fields !== value) return value
  // Every table has a `constructor`, which is not `true`.
  for (const name of Object.keys(fields)) fields[name] = convert(fields[name], mark, {}, int64s[name] === true)
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
export function writeJson(value: unknown, path: string, isInt64 = false): string | undefined {
  const own = readValue(value, path, isInt64)
  const write = (part: unknown) => writeJson(part, path)
  // An item that is nothing would be read as `null`, and a hole is one.
  if (Array.isArray(own)) return `[${Array.from(own, (item) => write(item) ?? rejectArgument(path, 'must be JSON'))}]`
  if (Object(own) !== own) return typeof own === 'bigint' ? String(own) : JSON.stringify(own)
  const members = Object.entries(own as object).flatMap(([name, part]) => {
    const text = write(part)
    return text ? `${JSON.stringify(name)}:${text}` : []
  })
  return `{${members}}`
}

/** Writes a field as text, for a path or a query. */
export function writeText(value: unknown, path: string, isInt64: boolean): string {
  const own = readValue(value, path, isInt64)
  if (own == null || Object(own) === own) rejectArgument(path, 'must be text, a number or a boolean')
  return encodeURIComponent(own as string)
}

/** Returns a value, with a bigint for an int64. Rejects what would not arrive as it is. */
function readValue(value: unknown, path: string, isInt64: boolean): unknown {
  const own = isInt64 && value != null ? (toInt64(value) ?? rejectArgument(path, NOT_INT64)) : value
  const reason = whyNotExact(own)
  return reason ? rejectArgument(path, reason) : own
}

export const NOT_INT64 = 'must be a bigint, a safe integer or digits (int64)'
