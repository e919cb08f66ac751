import type { Route } from './route.ts'
import { reject } from './write-scalar.ts'

/** What a request is written from, each only if the operation has it. */
export interface RequestInput {
  readonly pathParameters?: unknown
  readonly body?: unknown
  readonly query?: unknown
  readonly headers?: unknown
}

/**
 * Writes the path and query of a request.
 *
 * @throws RequestError if a value is invalid
 */
export function writePath({ path, pathParameters, query }: Route, input: RequestInput): string {
  const segments = new Map(pathParameters?.(input.pathParameters, 'path', true))
  const target = path.replace(/\{(\w+)\}/g, (_, name) => {
    const segment = String(segments.get(name))
    // URL parsers remove these segments, which makes it another path.
    if (/^\.{0,2}$/.test(segment)) return reject(name, 'must not be empty, "." or ".."')
    return encodeURIComponent(segment)
  })
  const pairs = query?.(input.query ?? {}, 'query', true).flatMap(([name, texts]) =>
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
  return Object.fromEntries(headers?.(input.headers ?? {}, 'headers', true) ?? []) as Record<string, string>
}
