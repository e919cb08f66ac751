import type { Route } from './read.ts'
import { reject } from './write.ts'

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

/** The version of this package: that of `package.json`. `npm run release` sets it, and a test compares them. */
const VERSION = '1.0.0'

/**
 * Normalizes header names to lower case.
 *
 * @throws RequestError if a header is invalid. The runtime's own error would show the value, which may be a secret.
 */
export function readHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  try {
    return Object.fromEntries(new Headers(headers))
  } catch {
    return reject('headers', 'contains an invalid name or value, or the runtime lacks Headers')
  }
}

/**
 * Returns the headers that every request has. In a browser there is no `user-agent`, because an extra header needs the
 * permission of a service at another origin.
 */
export function defaultHeaders(body: string | undefined): Record<string, string> {
  const { navigator } = globalThis as { navigator?: { userAgent: string } }
  // Of all runtimes, only Node.js 20 has no navigator.
  const runtime = navigator?.userAgent ?? 'Node.js'
  return {
    accept: 'application/json',
    ...(!runtime.startsWith('Mozilla/') && { 'user-agent': `plant-store-client/${VERSION} (${runtime})` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
}
