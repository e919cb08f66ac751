import { type Issue, UsageError } from '../errors.ts'
import { type Int64s, writeJson, writeText } from './json.ts'
import { isInt64, requireKnown } from './values.ts'

/** How to send an operation, and how the service responds. */
export interface Route {
  readonly method: string
  /** The path, with its parameters as `{name}`. */
  readonly path: string
  /** The fields of the input that are parameters of the query, and those of the body. */
  readonly query?: readonly string[]
  readonly body?: readonly string[]
  readonly required?: readonly string[]
  /** Where the input has int64s. */
  readonly int64s?: Readonly<Record<string, Int64s>>
  /** The success status, and the JSON that it has. */
  readonly status: number
  readonly returns?: 'object' | 'array'
  /** Parses that JSON. Default: `JSON.parse`. Data with int64s brings an exact reader, which other bundles do not have. */
  readonly parse?: (text: string) => unknown
  readonly paged?: true
  /** Whether it can be sent again after a failure in which it may have been processed. Default: true. */
  readonly idempotent?: false
}

/**
 * Writes the input of an operation: the path with the query, and the body.
 *
 * @throws UsageError with an issue for each field that is missing, unknown or cannot be sent exactly
 */
export function writeRequest({ path, query = [], body, required = [], int64s = {} }: Route, input: unknown) {
  const known = [...new Set([...(path.match(/\w+(?=\})/g) ?? []), ...query, ...(body ?? [])])]
  requireKnown(input, known, 'input', '', '; options are the second argument')
  const issues: Record<string, string> = {}
  const report = (name: string) => (message: string) => {
    issues[name] ??= message
  }
  const given = known.filter((name) => {
    if (input[name] === undefined) return required.includes(name) && report(name)('is required')
    if (int64s[name] === true && ![input[name]].flat().every(isInt64))
      report(name)('must be a bigint or a safe integer (int64)')
    return true
  })
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const segment = writeText(input[name], report(name))
    // URL parsers remove these segments, which makes it another path.
    if (/^\.{0,2}$/.test(segment)) report(name)('must not be empty, "." or ".."')
    return segment
  })
  const pairs = query.flatMap((name) =>
    // A copy has no holes.
    [...[given.includes(name) ? input[name] : []].flat()].map((value) => `${name}=${writeText(value, report(name))}`),
  )
  const fields = body
    ?.filter((name) => given.includes(name))
    .map((name) => `"${name}":${writeJson(input[name], report(name))}`)
  const list = Object.entries(issues).map(([name, message]): Issue => ({ path: name, message }))
  if (list.length > 0) throw new UsageError(list)
  return { target: pairs.length > 0 ? `${target}?${pairs.join('&')}` : target, body: fields && `{${fields}}` }
}
