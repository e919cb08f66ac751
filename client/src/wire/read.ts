/**
 * Reads the content of a response.
 *
 * @throws Error if it does not have the form that the contract declares
 */
export type Reader = (text: string) => unknown

/** Creates a reader of a JSON object. Its fields are not checked, so that a later service may add some. */
export const readObject =
  (parse: Reader = JSON.parse): Reader =>
  (text) => {
    const value = parse(text)
    if (!isObject(value)) throw new TypeError('must be an object')
    return value
  }

/** Creates a reader of a JSON array. */
export const readList =
  (parse: Reader = JSON.parse): Reader =>
  (text) => {
    const value = parse(text)
    if (!Array.isArray(value)) throw new TypeError('must be an array')
    return value
  }

/** Creates a reader of any JSON. */
export const readAny = (parse: Reader = JSON.parse): Reader => parse

/** Reads a response without content. */
export const readNothing: Reader = () => undefined

/** Tells a JSON object from other JSON. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
