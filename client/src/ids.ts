/** Why a text is not an id: it is not an integer in decimal digits, or an integer that is not an int64. */
export type InvalidId = 'not-an-integer' | 'out-of-range'

/**
 * Parses an id, such as the value of a form's field or a part of a URL, to a bigint; if the text is not an int64, it
 * returns why. `BigInt` alone accepts `''`, `' 1 '` and `'0x10'`.
 *
 * @example
 * const id = parseId(String(form.get('id')))
 * if (typeof id !== 'bigint') return showError(id === 'out-of-range' ? 'is too large' : 'must be a number')
 */
export function parseId(text: string): bigint | InvalidId {
  if (!/^-?\d+$/.test(text)) return 'not-an-integer'
  // A text of many digits would take `BigInt` long.
  const id = /^-?0*\d{1,19}$/.test(text) && BigInt(text)
  return id !== false && isInt64(id) ? id : 'out-of-range'
}

/** Whether a value is an int64 as the SDK takes it: a bigint in its range, or a safe integer. */
export function isInt64(value: unknown): boolean {
  return typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value)
}
