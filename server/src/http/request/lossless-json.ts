/**
 * Parses JSON without losing an integer.
 *
 * `JSON.parse` turns 9007199254740993 into ...992, which would mix up two plants, and silently keeps the last of two
 * duplicate keys, with and without a reviver that sees the source text; lossless-json accepts those with equal values. So
 * this is a parser of its own. It accepts what `JSON.parse` accepts (a property test compares them),
 * except duplicate keys and nesting deeper than {@link MAX_DEPTH}.
 */

/** RFC 8259 section 9 allows a limit, which keeps the recursion far from the end of the stack. */
export const MAX_DEPTH = 100

/** An int64 has at most this many digits. */
const INT64_DIGITS = 19

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const SHORT_INTEGER = /^-?\d{1,15}$/

/** The text is not valid JSON. The message says where and why, but never quotes the text. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError'
}

/**
 * Parses JSON text. A safe integer becomes a `number`, any other integer below 10^19 a `bigint`. A fraction that a
 * `number` would round to an integer (1.00000000000000000001) becomes NaN. The rest is as with `JSON.parse`.
 *
 * @throws JsonSyntaxError
 */
export function parseLosslessJson(text: string): unknown {
  let at = 0

  const value = readValue(0)
  skipSpace()
  if (at < text.length) fail('expected the end of the text')
  return value

  function fail(problem: string): never {
    throw new JsonSyntaxError(at < text.length ? `${problem} at character ${at + 1}` : `${problem}, but the text ends`)
  }

  function skipSpace(): void {
    for (;;) {
      const code = text.charCodeAt(at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      at++
    }
  }

  /** Skips space, and `character` if it follows. */
  function take(character: string): boolean {
    skipSpace()
    if (text[at] !== character) return false
    at++
    return true
  }

  function readValue(depth: number): unknown {
    skipSpace()
    const character = text[at]
    if (character === '"') return readString()
    if (character === '{') return readObject(depth + 1)
    if (character === '[') return readArray(depth + 1)
    if (character === 't') return readWord('true', true)
    if (character === 'f') return readWord('false', false)
    if (character === 'n') return readWord('null', null)
    return readNumber()
  }

  function readWord<Value>(word: string, value: Value): Value {
    if (!text.startsWith(word, at)) return fail('expected a JSON value')
    at += word.length
    return value
  }

  function readObject(depth: number): Record<string, unknown> {
    enter(depth)
    const object: Record<string, unknown> = {}
    if (take('}')) return object
    do {
      skipSpace()
      if (text[at] !== '"') fail('expected a key in double quotes')
      const start = at
      const key = readString()
      if (Object.hasOwn(object, key)) {
        at = start
        fail('duplicate key')
      }
      if (!take(':')) fail('expected a colon')
      const value = readValue(depth)
      if (key === '__proto__') defineMember(object, key, value)
      else object[key] = value
    } while (take(','))
    if (!take('}')) fail('expected a comma or a closing brace')
    return object
  }

  function readArray(depth: number): unknown[] {
    enter(depth)
    const array: unknown[] = []
    if (take(']')) return array
    do array.push(readValue(depth))
    while (take(','))
    if (!take(']')) fail('expected a comma or a closing bracket')
    return array
  }

  function enter(depth: number): void {
    if (depth > MAX_DEPTH) fail(`nested deeper than ${MAX_DEPTH} levels`)
    at++
  }

  function readString(): string {
    const start = at
    let escaped = false
    for (at++; text[at] !== '"'; at++) {
      if (!(text.charCodeAt(at) >= 0x20)) fail('expected a valid character or the closing quote of the string')
      if (text[at] === '\\') {
        escaped = true
        at++
      }
    }
    at++
    if (!escaped) return text.slice(start + 1, at - 1)
    try {
      return JSON.parse(text.slice(start, at))
    } catch {
      at = start
      return fail('invalid escape in the string')
    }
  }

  function readNumber(): number | bigint {
    NUMBER.lastIndex = at
    const literal = NUMBER.exec(text)?.[0]
    if (literal === undefined) return fail('expected a JSON value')
    at += literal.length
    return SHORT_INTEGER.test(literal) ? Number(literal) : exactNumber(literal)
  }
}

/** Sets a member that an assignment would take for the prototype. */
function defineMember(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true })
}

/** Moves the point of a number that is not a short integer to where its exponent says. */
function exactNumber(literal: string): number | bigint {
  const number = Number(literal)
  if (!Number.isInteger(number) || Math.abs(number) >= 10 ** INT64_DIGITS) return number
  const [mantissa = '', exponent = '0'] = literal.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = whole + fraction
  // A zero may have any exponent.
  const point = number === 0 ? 0 : Math.max(0, whole.length + Number(exponent))
  if (/[1-9]/.test(digits.slice(point))) return Number.NaN
  const integer = BigInt((number < 0 ? '-' : '') + digits.slice(0, point).padEnd(point, '0'))
  return Number.isSafeInteger(number) ? number : integer
}
