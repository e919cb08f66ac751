import { type Fields, type FieldsWriter, fields } from './fields.ts'
import type { Route } from './route.ts'
import { reject, text, type Writer } from './write-scalar.ts'

/** What a request is written from, each only if the operation has it. */
export interface RequestInput {
  readonly path?: unknown
  readonly body?: unknown
  readonly query?: unknown
  readonly headers?: unknown
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

/**
 * Writes the path and query of a request.
 *
 * @throws RequestError if a value is invalid
 */
export function writePath({ path, pathParameters, query }: Route, input: RequestInput): string {
  const segments = new Map(pathParameters?.(input.path, 'path', ''))
  const target = path.replace(/\{(\w+)\}/g, (_, name) => {
    const segment = String(segments.get(name))
    // URL parsers remove these segments, which makes it another path.
    if (/^\.{0,2}$/.test(segment)) return reject(name, 'must not be empty, "." or ".."')
    return encodeURIComponent(segment)
  })
  const pairs = query?.(input.query ?? {}, 'query').flatMap(([name, texts]) =>
    [texts].flat().map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`),
  )
  return pairs?.length ? `${target}?${pairs.join('&')}` : target
}

/**
 * Writes the header parameters of a request.
 *
 * @throws RequestError if a value is invalid
 */
export function writeHeaders({ headers }: Route, input: RequestInput): Record<string, string> {
  const texts = headers?.(input.headers ?? {}, 'headers') ?? []
  return Object.fromEntries(texts.map(([name, text]) => [name, String(text)]))
}
