import { reject, text, type Writer } from './write-scalar.ts'

/** The writers of named values, the fields of an object or parameters. */
export type Fields<TText = string> = Readonly<Record<string, (value: unknown, field: string) => TText>>

/** Writes named values, in the order of their writers. */
export type FieldsWriter<TText = string> = (
  value: unknown,
  field: string,
  prefix?: string,
) => [name: string, text: TText][]

/**
 * Creates a writer of named values.
 *
 * @throws RequestError, when called, if a value is missing or invalid
 */
export function fields<TText = string>(required: Fields<TText>, optional: Fields<TText> = {}): FieldsWriter<TText> {
  const writers = Object.entries({ ...required, ...optional })
  return (value, field, prefix = field && `${field}.`) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return reject(field, 'must be an object')
    const texts: [string, TText][] = []
    for (const [name, write] of writers) {
      const fieldValue = (value as Record<string, unknown>)[name]
      const place = prefix + name
      if (fieldValue !== undefined) texts.push([name, write(fieldValue, place)])
      else if (!Object.hasOwn(optional, name)) reject(place, 'is required')
    }
    return texts
  }
}

/** A parameter: text, or several texts for one that may be repeated. */
export type ParameterText = string | readonly string[]

/**
 * Creates a writer of the parameters of a query, or of the headers.
 *
 * @throws RequestError, when called, if a parameter is missing, invalid or unknown
 */
export function parameters(
  required: Fields<ParameterText>,
  optional: Fields<ParameterText> = {},
): FieldsWriter<ParameterText> {
  const known = { ...required, ...optional }
  const write = fields(required, optional)
  return (value, field) => {
    for (const [name, given] of Object.entries(Object(value))) {
      if (given !== undefined && !Object.hasOwn(known, name))
        reject(name, `is not a parameter of this operation; options are the argument after the ${field}`)
    }
    return write(value, field, '')
  }
}

/** Writes text for a header: what HTTP carries unchanged (RFC 9110 section 5.5). */
export const headerText: Writer = (value, field) =>
  /^[!-~]([ -~]*[!-~])?$/.test(text(value, field)) ? text(value, field) : reject(field, 'must be visible ASCII text')

/** Creates a writer of a query parameter that is repeated for each item of an array. */
export const each =
  (write: Writer) =>
  (value: unknown, field: string): string[] =>
    Array.isArray(value)
      ? value.map((item, index) => write(item, `${field}[${index}]`))
      : reject(field, 'must be an array')
