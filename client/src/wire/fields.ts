import { reject, text, type Writer } from './write-scalar.ts'

/** A parameter: text, or several texts for one that may be repeated. */
export type FieldText = string | readonly string[]

/** The writers of named values, the fields of an object or parameters. */
export type Fields = Readonly<Record<string, (value: unknown, field: string) => FieldText>>

/**
 * Writes named values, in the order of their writers.
 *
 * @param field the path of the object, for error messages; empty for the body itself
 * @param areParameters whether the values are parameters of this place, of which an unknown one is an error
 * @throws RequestError if a value is missing or invalid
 */
export type FieldsWriter = (
  value: unknown,
  field: string,
  areParameters?: boolean,
) => (readonly [name: string, text: FieldText])[]

/** Creates a writer of named values. */
export function fields(required: Fields, optional: Fields = {}): FieldsWriter {
  const known = { ...required, ...optional }
  const writers = Object.entries(known)
  return (value, field, areParameters) => {
    if (!isObject(value)) return reject(field, 'must be an object')
    for (const name of areParameters ? Object.keys(value) : []) {
      if (value[name] !== undefined && !Object.hasOwn(known, name))
        reject(name, `is not a parameter; options are the argument after the ${field}`)
    }
    const texts: [string, FieldText][] = []
    for (const [name, write] of writers) {
      const place = field && !areParameters ? `${field}.${name}` : name
      if (value[name] !== undefined) texts.push([name, write(value[name], place)])
      else if (!Object.hasOwn(optional, name)) reject(place, 'is required')
    }
    return texts
  }
}

/** Tells an object from other values. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Writes text for a header: what HTTP carries unchanged (RFC 9110 section 5.5). */
export const headerText: Writer = (value, field) =>
  /^[!-~]([ -~]*[!-~])?$/.test(text(value, field)) ? text(value, field) : reject(field, 'must be visible ASCII text')

/** Creates a writer of a query parameter that is repeated for each item of an array. */
export const each =
  (write: Writer) =>
  (value: unknown, field: string): string[] =>
    Array.isArray(value)
      ? [...value].map((item, index) => write(item, `${field}[${index}]`))
      : reject(field, 'must be an array')
