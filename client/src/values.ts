import { UsageError } from './errors.ts'

/** Rejects an argument or an option. */
export function rejectArgument(path: string, message: string): never {
  throw new UsageError([{ path, message }])
}

/** Tells an object from other values. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Requires an object of which nothing would be ignored: it is of no other kind, such as a `Map` or an `AbortSignal`,
 * and every field with a value is known.
 *
 * @param argument what the object is, in an error
 * @param prefix what precedes the name of a field
 * @param hint what is added to the error
 * @throws {UsageError} with an issue for each unknown field
 */
export function requireKnown<T>(
  value: T,
  known: readonly string[],
  argument: string,
  prefix = '',
  hint = '',
): asserts value is T & Readonly<Record<string, unknown>> {
  const expected = `${known.join(', ')}${hint}`
  if (!isObject(value) || !(isPlain(value) || known.some((name) => name in value))) {
    return rejectArgument(argument, `must be an object of ${expected}`)
  }
  const unknown = Object.keys(value).filter((name) => value[name] !== undefined && !known.includes(name))
  if (unknown.length > 0) {
    throw new UsageError(unknown.map((name) => ({ path: prefix + name, message: `is not one of ${expected}` })))
  }
}

/** Whether an object has no class. Each realm, such as that of a Jest test, has a prototype of its own. */
export function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return !prototype || !Object.getPrototypeOf(prototype)
}

/** Runs a function; undefined if it throws. */
export function orUndefined<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}

/** Runs a callback that only observes a call: its errors are ignored. */
export function observe(callback: () => unknown): void {
  // A broken log must not fail a call that succeeded.
  void (async () => callback())().catch(() => undefined)
}

/** Why a value is not an id: it is not an integer in decimal digits, or a safe one; or it is not an int64. */
export type InvalidId = 'not-an-integer' | 'out-of-range'

/**
 * Parses an id, such as the value of a form's field or a part of a URL, to a bigint; if the value is not an int64, it
 * returns why. `BigInt` alone accepts `''`, `' 1 '` and `'0x10'`, and a number above 2^53, which is the neighbour of
 * another.
 *
 * @param value decimal digits, a bigint, or a safe integer
 *
 * @example
 * const id = parseId(String(form.get('id')))
 * if (typeof id !== 'bigint') return showError(id === 'out-of-range' ? 'is too large' : 'must be a number')
 */
export function parseId(value: string | bigint | number): bigint | InvalidId {
  const isInteger = typeof value === 'bigint' || (typeof value === 'string' && /^-?\d+$/.test(value))
  return toInt64(value) ?? (isInteger ? 'out-of-range' : 'not-an-integer')
}

/** Returns an int64 as a bigint; undefined if a value is not one in decimal digits, a bigint, or a safe integer. */
export function toInt64(value: unknown): bigint | undefined {
  // A list or an object may have text that is an id.
  const text = /string|bigint/.test(typeof value) || Number.isSafeInteger(value) ? String(value) : ''
  // A text of many digits would take `BigInt` long.
  const id = /^-?0*\d{1,19}$/.test(text) ? BigInt(text) : undefined
  return id === undefined || BigInt.asIntN(64, id) === id ? id : undefined
}
