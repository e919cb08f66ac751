import { RequestError } from '../errors.ts'
import { writeJson, writeScalar } from './json.ts'
import type { Route } from './route.ts'

/** What a request is written from, each only if the operation has it. */
export interface RequestInput {
  readonly path?: unknown
  readonly body?: unknown
  readonly query?: unknown
}

/**
 * Writes the path and query of a request.
 *
 * @throws RequestError if a value is invalid
 */
export function writePath(route: Route, input: RequestInput): string {
  const { path, pathParameters, query = {} } = route
  const target = pathParameters ? writeSegments(path, pathParameters, fieldsOf(input.path, 'path')) : path
  const search = writeQuery(query, fieldsOf(input.query ?? {}, 'query'))
  return search ? `${target}?${search}` : target
}

/**
 * Writes the body of a request; undefined if the operation has none.
 *
 * @throws RequestError if a value is invalid
 */
export function writeBody({ body }: Route, input: RequestInput): string | undefined {
  return body && writeJson(input.body, body, 'body')
}

function writeSegments(
  path: string,
  parameters: NonNullable<Route['pathParameters']>,
  values: Record<string, unknown>,
): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const text = writeScalar(values[name], parameters[name] ?? 'text', name)
    // URL parsers remove these segments, which makes it another path.
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
