/**
 * Reads JSON with every int64 exact. `JSON.parse` rounds integers above 2^53, and its access to the text of a number is
 * missing in Node.js 20 and older browsers. So it parses the text once more with each number as a string. A bundle has this
 * only if the contract has an int64 in a response.
 */
import type { Reader } from './read.ts'

/** Where the int64s are: in the items of an array, in the fields of an object; `*` is each field of a record. */
export type Int64Places = 'int64' | readonly [Int64Places] | { readonly [field: string]: Int64Places }

/** What JSON has, by field or index. */
type Parts = Record<string, unknown>

/**
 * Creates a reader of JSON with int64s in these places, which become bigints.
 *
 * @throws Error, when called, if the text is not JSON or a number in such a place is not an int64
 */
export function exactly(places: Int64Places): Reader {
  return (text) => withInt64s(JSON.parse(text), JSON.parse(quoteNumbers(text)), places)
}

/** Replaces the numbers in these places of a value by what was written. */
function withInt64s(value: unknown, written: unknown, places: Int64Places): unknown {
  if (places === 'int64') return typeof value === 'number' ? readInt64(String(written)) : value
  // A union may have another value here. The characters of a text are its properties, too.
  if (typeof value !== 'object' || !value || Array.isArray(value) !== Array.isArray(places)) return value
  const parts = value as Parts
  const fields = places as { readonly [field: string]: Int64Places }
  for (const name of Object.keys(parts)) {
    const own = Array.isArray(places) ? places[0] : Object.hasOwn(fields, name) ? fields[name] : fields['*']
    // The property exists, so that an assignment to `__proto__` does not set the prototype.
    if (own) parts[name] = withInt64s(parts[name], (written as Parts)[name], own)
  }
  return value
}

/** Writes each number of valid JSON as a string. One regular expression for strings too overflows the stack on long ones. */
function quoteNumbers(json: string): string {
  let isString = false
  const parts = json.split('"').map((part) => {
    const wasString = isString
    // A quote after an odd number of backslashes does not end the string.
    isString = !wasString || /(?:^|[^\\])(?:\\\\)*\\$/.test(part)
    return wasString ? part : part.replace(/-?\d[\d.eE+-]*/g, '"$&"')
  })
  return parts.join('"')
}

function readInt64(token: string): bigint {
  // `1e3` and `1.0` are integers too; any other fraction may have been rounded to one.
  const isRounded = !/^-?\d+(\.0+)?(e\+?\d+)?$/i.test(token) || !Number.isSafeInteger(Number(token))
  const value = /^-?\d{1,19}$/.test(token) ? BigInt(token) : isRounded ? undefined : BigInt(Number(token))
  if (value !== undefined && BigInt.asIntN(64, value) === value) return value
  throw new RangeError('must be an int64')
}
