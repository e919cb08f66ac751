/**
 * The JSON of a body, whose integers are exact: `JSON.parse` alone rounds what is above 2^53, and silently takes the last value of a
 * duplicate key. Here a reviver sees how each number is written, and the values are counted in the text first: fewer
 * that are parsed means a duplicate key (docs/decisions/011-json-reader.md).
 */
import { HttpError } from './errors.ts'

/** More levels are rejected, as RFC 8259 section 9 allows. */
const MAX_DEPTH = 100
/** More values are rejected, keys not counted: each takes `JSON.parse` 0.5 us with a reviver. */
export const MAX_VALUES = 1_000

/** Strings, marks, and what is between them: numbers, `true`, `false` and `null`. */
const TOKENS = /"(?:[^"\\]|\\.)*"?|[[\]{},:]|[^ \t\n\r[\]{},:"]+/gs
/** The integer, the fraction and the exponent of a number. */
const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:e(.+))?$/i
/** Two numbers of at most so many characters, other than 0, are never the same `number`. */
const EXACT_LENGTH = 15
/** No int64 is as large, so larger ones need not be exact. */
const TOO_LARGE = 10 ** 19
/** The end of those messages of `JSON.parse` that do not quote the text. */
const POSITION = / at position (\d+) \(line \d+ column \d+\)$/

/** Longer texts may have more than {@link MAX_VALUES}. */
const MAX_PLAIN = 1_000
/** What a plain body lacks: numbers that may not be exact, with many digits, a fraction or an exponent, and arrays. */
const NOT_PLAIN = /\d{16}|\d[.Ee]|\[/
/** The end of each key. Other texts that look like it only make a body less plain. */
const KEY_END = /"\s*:/g

/** `JSON.parse` with a reviver that sees how a value is written, which TypeScript does not know yet. */
const parseSource = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { source: string }) => unknown,
) => unknown

/**
 * Parses JSON as `JSON.parse` does, but exactly: an integer that is not safe as a `number` becomes a `bigint`, and a
 * fraction that would be rounded to an integer becomes NaN.
 *
 * @throws {HttpError} `malformedJson` if the text is not JSON, has a duplicate key, or exceeds {@link MAX_DEPTH} or
 *   {@link MAX_VALUES}
 */
export function parseJson(text: string): unknown {
  return parsePlain(text) ?? parseWithSource(text)
}

/**
 * Parses what most bodies are, in a third of the time: a short object of texts and small integers, with as many keys as
 * are written, and no object within it that has any. Undefined: it is something else.
 */
function parsePlain(text: string): unknown {
  if (text.length > MAX_PLAIN || NOT_PLAIN.test(text)) return undefined
  try {
    const value: object = JSON.parse(text)
    return Object.keys(value).length === text.match(KEY_END)?.length ? value : undefined
  } catch {
    return undefined
  }
}

function parseWithSource(text: string): unknown {
  const written = countValues(text)
  let parsed = 0
  try {
    const value = parseSource(text, (_key, value, { source }) => {
      parsed++
      return typeof value === 'number' ? toExact(value, source) : value
    })
    // Of the values of a duplicate key, only the last one is left.
    if (parsed === written) return value
  } catch (error) {
    const [, position] = POSITION.exec((error as Error).message) ?? []
    throw malformed(`is not valid JSON${position ? ` at character ${Number(position) + 1}` : ''}`)
  }
  throw malformed('has a duplicate key')
}

/** The message never quotes the text. */
function malformed(problem: string): HttpError {
  return new HttpError('malformedJson', `The body ${problem}.`)
}

/** Counts the values of a text if it is JSON; if not, at least those that `JSON.parse` reads before it fails. */
function countValues(text: string): number {
  let depth = 0
  let count = 0
  let isAfterString = false
  for (const [token] of text.matchAll(TOKENS)) {
    const [first] = token
    if (first === '[' || first === '{') depth++
    if (first === ']' || first === '}') depth--
    else if (first === ':' && isAfterString) {
      // The string was a key.
      count--
    } else if (first !== ',' && first !== ':') count++
    isAfterString = first === '"'
    if (depth > MAX_DEPTH) throw malformed(`is nested deeper than ${MAX_DEPTH} levels`)
    // The last one may be a key.
    if (count > MAX_VALUES + 1) break
  }
  if (count > MAX_VALUES) throw malformed(`has more than ${MAX_VALUES} values`)
  return count
}

/** Returns the value of a number that is written like this, as exactly as {@link parseJson} does. */
function toExact(value: number, source: string): number | bigint {
  if (!Number.isInteger(value) || Math.abs(value) >= TOO_LARGE) return value
  if (source.length <= EXACT_LENGTH && value !== 0 && Number.isSafeInteger(value)) return value
  const [, whole = '', fraction = '', exponent] = NUMBER.exec(source) ?? []
  const places = value === 0 ? 0 : whole.length + Number(exponent)
  const digits = whole + fraction
  const point = exponent === undefined ? whole.length : places
  const [integer, rest] = [digits.slice(0, point).padEnd(point, '0'), digits.slice(point)]
  if (/[1-9]/.test(rest)) return Number.NaN
  if (Number.isSafeInteger(value)) return value
  return value < 0 ? -BigInt(integer) : BigInt(integer)
}
