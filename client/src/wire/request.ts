import { type Issue, UsageError } from '../errors.ts'
import { rejectArgument, requireKnown } from '../values.ts'
import { type Int64s, NOT_INT64, writeJson, writeText } from './json.ts'

/** How to send an operation, and how the service responds. */
export interface Route {
  readonly method: string
  /** The path, with its parameters as `{name}`. */
  readonly path: string
  /** The fields that are in the path only. One that the body has too is named there. */
  readonly inPath?: readonly string[]
  /** The fields that are parameters of the query. */
  readonly query?: readonly string[]
  /** The fields of the body. */
  readonly body?: readonly string[]
  /** The fields that the input must have. */
  readonly required?: readonly string[]
  /** The fields that may be `null`. */
  readonly nullable?: readonly string[]
  /** The fields that are int64s. */
  readonly int64s?: Int64s
  /** The success status, and the JSON that it has. */
  readonly status: number
  readonly returns?: 'object' | 'array'
  /**
   * Parses that JSON. Default: `JSON.parse`. Data with int64s brings an exact reader, which other bundles do not have.
   */
  readonly parse?: (text: string) => unknown
  readonly paged?: true
  /** Whether it can be sent again after a failure in which it may have been processed. Default: true. */
  readonly idempotent?: false
}

/** Fields of an input, by name. */
export type Fields = Readonly<Record<string, unknown>>

/**
 * Writes the input of an operation: the path with the query, and the JSON of the body, undefined for none.
 *
 * @param page fields that replace those of the input
 * @throws {UsageError} with an issue for each field that is missing, unknown or cannot be sent exactly
 */
export function writeRequest(route: Route, input: unknown, page: Fields = {}) {
  const { inPath = [], query = [], body = [], required = [], nullable = [], int64s = {} } = route
  const known = [...inPath, ...query, ...body]
  requireKnown(input, known, 'input', '', '; options are the second argument')
  const issues: Issue[] = []
  let target = route.path
  const pairs: string[] = []
  const members: string[] = []
  for (const name of known) {
    // Read by name, since it may be a getter of a class, and once, since another value would not be checked.
    const value = page[name] ?? input[name]
    const isInt64 = int64s[name] === true
    const isInBody = body.includes(name)
    try {
      if (value === null && isInt64 && !nullable.includes(name)) rejectArgument(name, NOT_INT64)
      const written = isInBody ? writeJson(value, name, isInt64) : value
      if (written === undefined && required.includes(name)) rejectArgument(name, 'is required')
      if (written === undefined) continue
      if (query.includes(name)) pairs.push(`${name}=${writeText(value, name, isInt64)}`)
      if (isInBody) members.push(`"${name}":${written}`)
      target = target.replace(`{${name}}`, () => {
        const segment = writeText(value, name, isInt64)
        // URL parsers remove these segments, which makes it another path.
        return /^\.{0,2}$/.test(segment) ? rejectArgument(name, 'must not be empty, "." or ".."') : segment
      })
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      issues.push(...error.issues)
    }
  }
  if (issues.length > 0) throw new UsageError(issues)
  if (pairs.length > 0) target += `?${pairs.join('&')}`
  return { target, body: route.body && `{${members}}` }
}

/** Headers by their names in lower case; `null` removes one. */
export type HeaderFields = Readonly<Record<string, string | null>>

/**
 * The version of this package: that of `package.json`. `npm run changeset -- version` sets it,
 * and a test compares them.
 */
const VERSION = '1.0.0'

/**
 * Returns the headers that every request has. In a browser there is no `user-agent`, because an extra header needs the
 * permission of a service at another origin.
 */
export function defaultHeaders(body: string | undefined): HeaderFields {
  // Of all runtimes, only Node.js 20 has no navigator.
  const runtime = (globalThis as { navigator?: { userAgent: string } }).navigator?.userAgent ?? 'Node.js'
  return {
    accept: 'application/json',
    'content-type': body === undefined ? null : 'application/json',
    'user-agent': /^Mozilla/.test(runtime) ? null : `plant-store-client/${VERSION} (${runtime})`,
  }
}

/**
 * Reads headers: an object, `Headers`, or pairs.
 *
 * @throws {UsageError} if a header is invalid. The runtime's own error would show the value, which may be a secret.
 */
export function readHeaders(headers: unknown, path: string): HeaderFields {
  if (!headers || typeof headers !== 'object') rejectArgument(path, 'must be an object')
  const fields: Record<string, string | null> = {}
  for (const pair of Symbol.iterator in headers ? (headers as Iterable<unknown[]>) : Object.entries(headers)) {
    const [name, value] = pair
    if (value === undefined) continue
    try {
      if (value !== null && typeof value !== 'string') throw new TypeError()
      // `new Headers` also rejects what is not a pair.
      for (const [key, text] of new Headers([value === null ? [name, ''] : pair] as [string, string][])) {
        // A name that is repeated is a list.
        fields[key] = value && fields[key] ? `${fields[key]}, ${text}` : value && text
      }
    } catch {
      // What follows a name may be a secret.
      rejectArgument(`${path}.${/^[\w-]*/.exec(`${name}`)}`, 'must be a valid text')
    }
  }
  return fields
}

/** Removes the headers that are `null`. */
export function withoutNull(headers: HeaderFields): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null)) as Record<string, string>
}
