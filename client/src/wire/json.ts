/** Exact JSON: every int64 is a bigint in JavaScript and an integer in JSON, on engines that round it too. */

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
  if (isMarked && int64s !== true) return Number(value.slice(mark.length))
  if (isMarked) return BigInt(value.slice(mark.length))
  if (Array.isArray(value)) return value.map((item) => convert(item, int64s, mark))
  if (typeof value === 'number' && int64s === true) {
    if (!Number.isSafeInteger(value)) throw new RangeError('not an exact integer')
    return BigInt(value)
  }
  const fields = Object(value)
  if (fields !== value) return value
  for (const name of Object.keys(fields)) fields[name] = convert(fields[name], Object(int64s)[name], mark)
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
  return ['function', 'symbol'].includes(typeof value) ? 'must be JSON' : undefined
}

/** Gets what is wrong with a value. */
type Report = (message: string) => void

/**
 * Writes a value as JSON, with every bigint as an integer: Node.js 20 and Safari before 18.4 lack `JSON.rawJSON`.
 *
 * @returns undefined where `JSON.stringify` does: for undefined, and an object whose `toJSON` returns that
 */
export function writeJson(value: unknown, report: Report): string | undefined {
  const own = toPlain(toPlain(value))
  const reason = whyNotExact(own)
  if (reason) report(reason)
  if (typeof own === 'bigint') return String(own)
  if (Object(own) !== own) return JSON.stringify(own)
  // An item that is nothing would be read as `null`, and a hole is one.
  if (Array.isArray(own)) return `[${Array.from(own, (item) => writeJson(item, report) ?? report('must be JSON'))}]`
  const members = Object.entries(own as object).flatMap(([name, part]) => {
    const text = writeJson(part, report)
    return text === undefined ? [] : `${writeJson(name, report)}:${text}`
  })
  return `{${members}}`
}

/** Returns what `JSON.stringify` takes for an object: the primitive in a `new String('a')`, or the result of a `toJSON`. */
function toPlain(value: unknown): unknown {
  const tag = Object.prototype.toString.call(value)
  // Also those that are primitives: many apps add a `toJSON` to bigints.
  if (/^\[object (Boolean|Number|String|BigInt)]$/.test(tag)) return value?.valueOf()
  return typeof Object(value).toJSON === 'function' ? Object(value).toJSON() : value
}

/** Writes a value as text, for a path or a query. */
export function writeText(value: unknown, report: Report): string {
  const reason = value == null || Object(value) === value ? 'must be text, a number or a boolean' : whyNotExact(value)
  if (reason) report(reason)
  return reason ? '' : encodeURIComponent(String(value))
}
