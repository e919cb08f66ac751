import { reject } from './write-scalar.ts'

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
