import { RequestError } from '../errors.ts'
import { writeJson, writeScalar } from './json.ts'
import type { Route } from './route.ts'

/** What a caller gives an operation: each where the operation has it. */
export interface Input {
  readonly path?: unknown
  readonly body?: unknown
  readonly query?: unknown
}

/** The path and query of a request, to be appended to the base URL. */
export function writePath(route: Route, input: Input): string {
  const { path, pathParameters, query = {} } = route
  const target = pathParameters ? writeSegments(path, pathParameters, fieldsOf(input.path, 'path')) : path
  const search = writeQuery(query, fieldsOf(input.query ?? {}, 'query'))
  return search ? `${target}?${search}` : target
}

/** The body of a request; undefined where the operation has none. */
export function writeBody({ body }: Route, input: Input): string | undefined {
  return body && writeJson(input.body, body, 'body')
}

function writeSegments(
  path: string,
  parameters: NonNullable<Route['pathParameters']>,
  values: Record<string, unknown>,
): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const text = writeScalar(values[name], parameters[name] ?? 'text', name)
    // A URL parser takes these segments away, and with them what the path means.
    if (/^\.{0,2}$/.test(text)) throw new RequestError(`${name}: must not be empty, "." or ".."`)
    return encodeURIComponent(text)
  })
}

function writeQuery(shape: NonNullable<Route['query']>, values: Record<string, unknown>): string {
  const parameters: string[] = []
  for (const [key, scalar] of Object.entries(shape)) {
    const name = key.replace('?', '')
    if (values[name] === undefined && name !== key) continue
    parameters.push(`${name}=${encodeURIComponent(writeScalar(values[name], scalar, name))}`)
  }
  return parameters.join('&')
}

function fieldsOf(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  throw new RequestError(`${name}: must be an object`)
}
