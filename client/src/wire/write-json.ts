/**
 * Writers of JSON, of which the generated route table composes the writer of each body. They are functions, and not
 * descriptions of a form, so that a bundle has only those that the contract needs. `JSON.stringify` throws on bigints,
 * and Node.js 20 and Safari lack `JSON.rawJSON`.
 */
import { type Fields, fields } from './fields.ts'
import { reject, type Writer } from './write-scalar.ts'

/** Creates a writer of text as a JSON string. */
export const quoted =
  (write: Writer): Writer =>
  (value, field) =>
    JSON.stringify(write(value, field))

/** Creates a writer of an array. */
export const list =
  (write: Writer): Writer =>
  (value, field) =>
    Array.isArray(value)
      ? // A copy has no holes, which would be no JSON.
        `[${[...value].map((item, index) => write(item, `${field || 'body'}[${index}]`))}]`
      : reject(field, 'must be an array')

/** Creates a writer of an object, without the fields that have no writer. */
export const object = (required: Fields, optional?: Fields): Writer => {
  const write = fields(required, optional)
  return (value, field) => `{${write(value, field).map(([name, text]) => `${JSON.stringify(name)}:${text}`)}}`
}

/** Creates a writer of an object whose field names are data. */
export const record =
  (write: Writer): Writer =>
  (value, field) =>
    object({}, Object.fromEntries(Object.keys(Object(value)).map((name) => [name, write])))(value, field)

/** Creates a writer of alternatives. Only the one that a value is can write it: the generator rejects a union without. */
export const union =
  (...writers: readonly Writer[]): Writer =>
  (value, field) => {
    const reasons = new Set<string>()
    for (const write of writers) {
      try {
        return write(value, field)
      } catch (error) {
        reasons.add((error as Error).message)
      }
    }
    return reject(field, `fits no alternative (${[...reasons].join('; ')})`)
  }
