/**
 * Writers, of which the generated route table composes the writer of each request. They are functions, and not descriptions
 * of a form, so that a bundle has only those that the contract needs. `JSON.stringify` throws on bigints, and Node.js 20 and
 * Safari lack `JSON.rawJSON`.
 */
import { UsageError } from '../errors.ts'

/**
 * Writes a value as text: JSON in a body, plain text in a path, query or header.
 *
 * @param field the path of the value, for error messages; empty for the body itself
 * @throws UsageError if the value is invalid or cannot be sent exactly
 */
export type Writer = (value: unknown, field: string) => string

/** Rejects a value. */
export function reject(field: string, reason: string): never {
  throw new UsageError(`${field || 'body'}: ${reason}`)
}

export const text: Writer = (value, field) => {
  if (typeof value !== 'string') return reject(field, 'must be a string')
  // With the u flag a surrogate pair is one character, so only a lone surrogate matches.
  if (/[\0\uD800-\uDFFF]/u.test(value)) return reject(field, 'must not contain U+0000 or a lone surrogate')
  return value
}

export const boolean: Writer = (value, field) =>
  typeof value === 'boolean' ? String(value) : reject(field, 'must be a boolean')

export const number: Writer = (value, field) =>
  Number.isFinite(value) ? String(value) : reject(field, 'must be a number')

export const integer: Writer = (value, field) =>
  Number.isSafeInteger(value) ? String(value) : reject(field, 'must be an integer')

export const int64: Writer = (value, field) => {
  if (Number.isSafeInteger(value)) return String(value)
  if (typeof value !== 'bigint') return reject(field, 'must be a bigint or a safe integer')
  return BigInt.asIntN(64, value) === value
    ? String(value)
    : reject(field, 'must be between -2^63 and 2^63 - 1 (int64)')
}

/** Creates a writer of a few values. */
export function oneOf(...values: readonly unknown[]): Writer {
  return (value, field) =>
    values.includes(value) ? String(value) : reject(field, `must be ${values.map(String).join(' or ')}`)
}

/** A parameter: text, or several texts for one that may be repeated. */
export type FieldText = string | readonly string[]

/** The writers of named values, the fields of an object or parameters. */
export type Fields = Readonly<Record<string, (value: unknown, field: string) => FieldText>>

/**
 * Writes named values, in the order of their writers.
 *
 * @param field the path of the object, for error messages; empty for the body itself
 * @param areParameters whether the values are parameters of this place, of which an unknown one is an error
 * @throws UsageError if a value is missing or invalid
 */
export type FieldsWriter = (
  value: unknown,
  field: string,
  areParameters?: boolean,
) => (readonly [name: string, text: FieldText])[]

/** Creates a writer of named values. */
export function fields(required: Fields, optional: Fields = {}): FieldsWriter {
  const all = { ...required, ...optional }
  return (value, field, areParameters) => {
    const prefix = field && !areParameters ? `${field}.` : ''
    const hint = areParameters ? `; options are the argument after the ${field}` : ''
    requireKnown(value, Object.keys(all), field, prefix, hint)
    return Object.entries(all).flatMap(([name, write]): [string, FieldText][] => {
      if (value[name] !== undefined) return [[name, write(value[name], prefix + name)]]
      return Object.hasOwn(optional, name) ? [] : reject(prefix + name, 'is required')
    })
  }
}

/** Tells an object from other values. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Requires an object of which nothing would be ignored: it is of no other kind, such as a `Map` or a `URLSearchParams`, and
 * every name with a value is known. The names of an instance are its fields and the getters of its classes.
 *
 * @param prefix what precedes a name in an error
 * @param hint what is added to the error of an unknown name
 * @throws UsageError if a name is unknown
 */
export function requireKnown<T>(
  value: T,
  known: readonly string[],
  field: string,
  prefix = '',
  hint = '',
): asserts value is T & Readonly<Record<string, unknown>> {
  if (!isObject(value)) return reject(field, 'must be an object')
  const names = Object.keys(value)
  const list = known.join(', ')
  if (!isPlain(value) && !known.some((name) => name in value)) {
    reject(field, `must be an object of ${list}, not ${Object(value['constructor']).name}`)
  }
  for (let owner: object = value; !isPlain(owner); ) {
    owner = Object.getPrototypeOf(owner)
    names.push(...Object.getOwnPropertyNames(owner).filter((name) => typeof value[name] !== 'function'))
  }
  const unknown = names.find((name) => value[name] !== undefined && !known.includes(name))
  const advice = /^idem/i.test(unknown ?? '') ? '; what is safe to repeat is retried' : hint
  if (unknown !== undefined) reject(prefix + unknown, `is not one of ${list}${advice}`)
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

/** Writes text for a header: what HTTP carries unchanged (RFC 9110 section 5.5). */
export const headerText: Writer = (value, field) =>
  /^[!-~]([ -~]*[!-~])?$/.test(text(value, field)) ? text(value, field) : reject(field, 'must be visible ASCII text')

/** Creates a writer of a query parameter that is repeated for each item of an array. */
export function each(write: Writer) {
  return (value: unknown, field: string): string[] => {
    if (!Array.isArray(value)) return reject(field, 'must be an array')
    // A copy has no holes, which JSON does not have.
    return [...value].map((item, index) => write(item, `${field}[${index}]`))
  }
}

/** Creates a writer of text as a JSON string. */
export function quoted(write: Writer): Writer {
  return (value, field) => JSON.stringify(write(value, field))
}

/** Creates a writer of an array. */
export function list(write: Writer): Writer {
  return (value, field) => `[${each(write)(value, field || 'body')}]`
}

/** Creates a writer of an object. */
export function object(required: Fields, optional?: Fields): Writer {
  const write = fields(required, optional)
  return (value, field) => `{${write(value, field).map(([name, text]) => `${JSON.stringify(name)}:${text}`)}}`
}

/** Creates a writer of an object whose field names are data. */
export function record(write: Writer): Writer {
  return (value, field) =>
    object({}, Object.fromEntries(Object.keys(Object(value)).map((name) => [name, write])))(value, field)
}

/** Creates a writer of objects that a field of this name tells apart: the values of each, and its writer. */
export function kinds(name: string, ...writers: readonly (readonly [values: readonly unknown[], Writer])[]): Writer {
  return (value, field) => {
    if (!isObject(value)) return reject(field, 'must be an object')
    const found = writers.find(([values]) => values.includes(value[name]))
    if (found) return found[1](value, field)
    return oneOf(...writers.flatMap(([values]) => values))(value[name], field ? `${field}.${name}` : name)
  }
}

/** Creates a writer of alternatives of different types. */
export function union(...writers: readonly Writer[]): Writer {
  return (value, field) => {
    const start = `${field || 'body'}: must be `
    const types = new Set<string>()
    for (const write of writers) {
      try {
        return write(value, field)
      } catch (error) {
        const { message } = error as Error
        // The value has the type of this alternative, in which something else is wrong.
        if (!message.startsWith(start)) throw error
        types.add(message.slice(start.length))
      }
    }
    return reject(field, `must be ${[...types].join(' or ')}`)
  }
}
