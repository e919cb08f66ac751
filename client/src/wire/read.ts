import { isObject } from './fields.ts'

/**
 * Reads the content of a response.
 *
 * @throws Error if it does not have the form that the contract declares
 */
export type Reader = (text: string) => unknown

/** Creates a reader of JSON. */
const readIf =
  (isExpected: (value: unknown) => boolean) =>
  (parse: Reader = JSON.parse): Reader =>
  (text) => {
    const value = parse(text)
    if (isExpected(value)) return value
    throw new TypeError()
  }

/** Creates a reader of a JSON object. Its fields are not checked, so that a later service may add some. */
export const readObject = readIf(isObject)

/** Creates a reader of a JSON array. */
export const readList = readIf(Array.isArray)

/** Creates a reader of any JSON. */
export const readAny = readIf(() => true)

/** Reads a response without content. */
export const readNothing: Reader = () => undefined
