/**
 * Reads JSON with every int64 exact. `JSON.parse` rounds integers above 2^53, and its access to the text of a number is
 * missing in Node.js 20 and older browsers. This reader is faster than that access if there is one, so it is the same
 * everywhere. A bundle has it only if the contract has an int64 in a response. It recurses, so thousands of levels are too
 * deep for it.
 */
import type { Reader } from './read.ts'

/** Where the int64s are: in the items of an array, in the fields of an object; `*` is each field of a record. */
export type Int64Places = 'int64' | readonly [Int64Places] | { readonly [field: string]: Int64Places }

const SPACE = 32
const QUOTE = 34
const COMMA = 44
const NINE = 57
const ARRAY = 91
const BACKSLASH = 92
const ARRAY_END = 93
const OBJECT = 123
const OBJECT_END = 125

/**
 * Creates a reader of JSON with int64s in these places, which become bigints.
 *
 * @throws Error, when called, if the text is not JSON or a number in such a place is not an int64
 */
export const exactly =
  (int64Places: Int64Places): Reader =>
  (text) => {
    // Rejects what is not JSON, so that the code below need not.
    JSON.parse(text)
    let position = 0
    return readValue(int64Places)

    function readValue(places: Int64Places | undefined): unknown {
      const first = skipSpaces()
      if (first === QUOTE) return readString()
      if (first === ARRAY) return readArray(Array.isArray(places) ? places[0] : undefined)
      if (first === OBJECT) return readObject(places)
      const token = readToken()
      return places === 'int64' && first <= NINE ? readInt64(token) : JSON.parse(token)
    }

    function readArray(places: Int64Places | undefined): unknown[] {
      const items: unknown[] = []
      while (hasNext(ARRAY_END)) items.push(readValue(places))
      return items
    }

    function readObject(places: Int64Places | undefined): object {
      const fields: Record<string, unknown> = {}
      while (hasNext(OBJECT_END)) {
        const name = readString()
        skipSpaces()
        position++
        const value = readValue(placesOf(name, places))
        // An assignment would set the prototype.
        if (name === '__proto__')
          Object.defineProperty(fields, name, { value, enumerable: true, writable: true, configurable: true })
        else fields[name] = value
      }
      return fields
    }

    /** Moves to the next item or field, or behind the end. */
    function hasNext(end: number): boolean {
      if (skipSpaces() !== end) {
        position++
        if (skipSpaces() !== end) return true
      }
      position++
      return false
    }

    function readString(): string {
      const start = position
      do position = text.indexOf('"', position + 1)
      while (isEscaped(position))
      const content = text.slice(start + 1, position++)
      return content.includes('\\') ? JSON.parse(text.slice(start, position)) : content
    }

    function isEscaped(index: number): boolean {
      let start = index
      while (text.charCodeAt(start - 1) === BACKSLASH) start--
      return (index - start) % 2 === 1
    }

    /** Reads a number, `true`, `false` or `null`. */
    function readToken(): string {
      const start = position
      for (let code = skipSpaces(); code > SPACE; code = text.charCodeAt(++position)) {
        if (code === COMMA || code === ARRAY_END || code === OBJECT_END) break
      }
      return text.slice(start, position)
    }

    function skipSpaces(): number {
      while (text.charCodeAt(position) <= SPACE) position++
      return text.charCodeAt(position)
    }
  }

function placesOf(field: string, places: Int64Places | undefined): Int64Places | undefined {
  if (typeof places !== 'object' || Array.isArray(places)) return undefined
  const fields = places as { readonly [field: string]: Int64Places }
  return Object.hasOwn(fields, field) ? fields[field] : fields['*']
}

function readInt64(token: string): bigint {
  // `1e3` and `1.0` are integers too; any other fraction may have been rounded to one.
  const isRounded = !/^-?\d+(\.0+)?(e\+?\d+)?$/i.test(token) || !Number.isSafeInteger(Number(token))
  const value = /^-?\d{1,19}$/.test(token) ? BigInt(token) : isRounded ? undefined : BigInt(Number(token))
  if (value !== undefined && BigInt.asIntN(64, value) === value) return value
  throw new RangeError('must be an int64')
}
