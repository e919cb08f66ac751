/**
 * Parses JSON without losing an integer.
 *
 * `JSON.parse` turns 9007199254740993 into ...992, which would mix up two plants, and silently keeps the last of two
 * duplicate keys, with and without a reviver that sees the source text; lossless-json accepts those with equal values. So
 * this is a parser of its own. It accepts what `JSON.parse` accepts (a property test compares them),
 * except duplicate keys and nesting deeper than {@link MAX_DEPTH}.
 */

/** RFC 8259 section 9 allows a limit. */
export const MAX_DEPTH = 100

/** An int64 has at most this many digits. */
const INT64_DIGITS = 19
/** Two numbers of at most this many digits are never the same `number`. */
const EXACT_DIGITS = 15
/** V8 copies a shorter part of a text. For a longer one it keeps the whole text in memory. */
const COPIED_LENGTH = 13

// UTF-16 code units, since comparing them is faster than comparing characters.
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]
const [PLUS, MINUS, POINT, ZERO, NINE, UPPER_E, LOWER_E] = [0x2b, 0x2d, 0x2e, 0x30, 0x39, 0x45, 0x65]
const [SPACE, TAB, LINE_FEED, CARRIAGE_RETURN] = [0x20, 0x09, 0x0a, 0x0d]

/** The text is not valid JSON. The message says where and why, but never quotes the text. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError'
}

/** An array or an object whose end has not been read. */
interface Container {
  /** The members of an object; undefined: it is an array. */
  members: Record<string, unknown> | undefined
  /** The key of the member that is read next. */
  key: string
  /** Where the elements of an array begin. */
  first: number
}

/** Instead of a value: its container has begun, and its first value follows. */
const BEGUN = Symbol('begun')

/**
 * Parses JSON text in parts. A safe integer becomes a `number`, any other integer below 10^19 a `bigint`. A fraction that a
 * `number` would round to an integer (1.00000000000000000001) becomes NaN. The rest is as with `JSON.parse`, except that
 * an object with members has no prototype, so that no key means anything to JavaScript.
 *
 * @returns a function that reads so many characters, and those up to the end of a value; default: all. It returns the whole
 *   value at the end of the text, and throws a JsonSyntaxError. Without a recursion, it can stop anywhere
 */
export function createJsonReader(text: string): (characters?: number) => { value: unknown } | undefined {
  let at = 0
  const containers: Container[] = []
  /** The elements of all these arrays. Arrays that grow one by one would take three times as much memory. */
  const elements: unknown[] = []
  let elementCount = 0

  return (characters = Number.POSITIVE_INFINITY) => {
    const pauseAt = at + characters
    do {
      const value = beginValue()
      const whole = value === BEGUN ? undefined : endValue(value)
      if (whole) return whole
    } while (at < pauseAt)
    return undefined
  }

  function fail(problem: string): never {
    throw new JsonSyntaxError(at < text.length ? `${problem} at character ${at + 1}` : `${problem}, but the text ends`)
  }

  /** Skips space, and returns what follows; NaN at the end of the text. */
  function skipSpace(): number {
    for (let next = at; ; next++) {
      const code = text.charCodeAt(next)
      if (code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB) continue
      at = next
      return code
    }
  }

  function beginValue(): unknown {
    const code = skipSpace()
    if (code === QUOTE) return readString()
    if (code === OPENING_BRACE || code === OPENING_BRACKET) return beginContainer(code)
    if (code === MINUS || isDigit(code)) return readNumber()
    if (text.startsWith('true', at)) return skip(4, true)
    if (text.startsWith('false', at)) return skip(5, false)
    if (text.startsWith('null', at)) return skip(4, null)
    return fail('expected a JSON value')
  }

  function skip<Value>(characters: number, value: Value): Value {
    at += characters
    return value
  }

  function beginContainer(code: number): unknown {
    if (containers.length === MAX_DEPTH) fail(`nested deeper than ${MAX_DEPTH} levels`)
    at++
    const isObject = code === OPENING_BRACE
    if (skipSpace() === (isObject ? CLOSING_BRACE : CLOSING_BRACKET)) return skip(1, isObject ? {} : [])
    const members: Container['members'] = isObject ? Object.create(null) : undefined
    containers.push({ members, key: members ? readKey(members) : '', first: elementCount })
    return BEGUN
  }

  /** Puts a value into its container, and ends the containers that it is the last value of. */
  function endValue(value: unknown): { value: unknown } | undefined {
    for (;;) {
      const code = skipSpace()
      const container = containers.at(-1)
      if (!container) return at < text.length ? fail('expected the end of the text') : { value }
      const { members } = container
      if (members) members[container.key] = value
      else elements[elementCount++] = value
      if (code === COMMA) {
        at++
        if (members) container.key = readKey(members)
        return undefined
      }
      if (members && code !== CLOSING_BRACE) fail('expected a comma or a closing brace')
      if (!members && code !== CLOSING_BRACKET) fail('expected a comma or a closing bracket')
      at++
      containers.pop()
      value = members ?? takeElements(container.first)
    }
  }

  function takeElements(first: number): unknown[] {
    const array = elements.slice(first, elementCount)
    elementCount = first
    return array
  }

  function readKey(members: object): string {
    if (skipSpace() !== QUOTE) fail('expected a key in double quotes')
    const start = at
    const key = readString()
    if (key in members) {
      at = start
      fail('duplicate key')
    }
    if (skipSpace() !== COLON) fail('expected a colon')
    at++
    return key
  }

  function readString(): string {
    const start = at
    let isEscaped = false
    let end = start + 1
    for (let code = text.charCodeAt(end); code !== QUOTE; code = text.charCodeAt(++end)) {
      if (!(code >= SPACE)) {
        at = end
        fail('expected a valid character or the closing quote of the string')
      }
      if (code === BACKSLASH) {
        isEscaped = true
        end++
      }
    }
    at = end + 1
    if (!isEscaped && end - start <= COPIED_LENGTH) return text.slice(start + 1, end)
    try {
      return JSON.parse(text.slice(start, at))
    } catch {
      at = start
      return fail('invalid escape in the string')
    }
  }

  /** Skips at least one digit, and returns their number, which is exact for up to 15. */
  function readDigits(): number {
    let number = 0
    let next = at
    for (let code = text.charCodeAt(next); isDigit(code); code = text.charCodeAt(++next)) {
      number = 10 * number + (code - ZERO)
    }
    if (next === at) fail('expected a digit')
    at = next
    return number
  }

  function readNumber(): number | bigint {
    const start = at
    const isNegative = text.charCodeAt(at) === MINUS
    if (isNegative) at++
    const whole = at
    // No digit follows a leading zero.
    const integer = text.charCodeAt(at) === ZERO ? skip(1, 0) : readDigits()
    const point = at
    let fraction = 0
    if (text.charCodeAt(at) === POINT) {
      at++
      fraction = readDigits()
    }
    const end = at
    const exponent = readExponent()
    const isShort = end - whole <= EXACT_DIGITS
    if (isShort && at === point) return isNegative ? -integer : integer

    const number = Number(text.slice(start, at))
    if (!Number.isInteger(number) || Math.abs(number) >= 10 ** INT64_DIGITS) return number
    // A number other than 0 may be too small for a `number`.
    if (number === 0) return integer === 0 && fraction === 0 ? number : Number.NaN
    if (isShort && Number.isSafeInteger(number)) return number
    const digits = text.slice(whole, point) + text.slice(point + 1, end)
    const places = point - whole + exponent
    if (/[1-9]/.test(digits.slice(places))) return Number.NaN
    if (Number.isSafeInteger(number)) return number
    return BigInt((isNegative ? '-' : '') + digits.slice(0, places).padEnd(places, '0'))
  }

  function readExponent(): number {
    const code = text.charCodeAt(at)
    if (code !== LOWER_E && code !== UPPER_E) return 0
    at++
    const sign = text.charCodeAt(at)
    if (sign === MINUS || sign === PLUS) at++
    return sign === MINUS ? -readDigits() : readDigits()
  }
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}
