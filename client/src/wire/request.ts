import type { HeaderFields } from '../fetch.ts'
import type { Route } from './read.ts'
import { orUndefined, reject } from './write.ts'

/**
 * Writes the path and query of a request.
 *
 * @throws UsageError if a value is invalid
 */
export function writePath(
  { path, pathParameters, query }: Route,
  pathValues: unknown,
  queryValues: unknown = {},
): string {
  const segments = new Map(pathParameters?.(pathValues, 'path', true))
  const target = path.replace(/\{(\w+)\}/g, (_, name) => {
    const segment = String(segments.get(name))
    // URL parsers remove these segments, which makes it another path.
    if (/^\.{0,2}$/.test(segment)) return reject(name, 'must not be empty, "." or ".."')
    return encodeURIComponent(segment)
  })
  const pairs = query?.(queryValues ?? {}, 'query', true).flatMap(([name, texts]) =>
    [texts].flat().map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`),
  )
  return pairs?.length ? `${target}?${pairs.join('&')}` : target
}

/** The version of this package: that of `package.json`. `npm run release` sets it, and a test compares them. */
const VERSION = '1.0.0'

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

/**
 * Reads headers: an object, `Headers`, or pairs.
 *
 * @throws UsageError if a header is invalid. The runtime's own error would show the value, which may be a secret.
 */
export function readHeaders(headers: unknown): HeaderFields {
  if (!headers || typeof headers !== 'object') reject('headers', 'must be an object')
  const fields: Record<string, string | null> = {}
  for (const pair of Symbol.iterator in headers ? (headers as Iterable<unknown[]>) : Object.entries(headers)) {
    const [name, value] = pair
    if (value === undefined) continue
    if (value !== null && typeof value !== 'string') reject(`headers.${name}`, 'must be a string')
    try {
      // `new Headers` also rejects what is not a pair.
      for (const [key, text] of new Headers([value === null ? [name, ''] : pair] as [string, string][])) {
        // A name that is repeated is a list.
        fields[key] = value && fields[key] ? `${fields[key]}, ${text}` : value && text
      }
    } catch {
      // What follows a name may be a secret.
      reject(`headers.${/^[\w-]*/.exec(`${name}`)}`, 'is invalid, or there is no Headers')
    }
  }
  return fields
}

/** Removes the headers that are `null`. */
export function withoutNull(headers: HeaderFields): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null)) as Record<string, string>
}

/**
 * Returns the cursor in the target of `rel="next"` of a `Link` header (RFC 8288); undefined if there is none, and empty if the
 * target is not a page of this URL, whatever its other parameters. It compares text: React Native cannot resolve URLs.
 */
export function nextCursor(link: string | null, url: string): string | undefined {
  // No two parts match the same characters, which would take quadratic time.
  const target = /<([^<>]*)>[^<]*;\s*rel\s*=([^,;]*[\s"])?next(?![^\s",;])/i.exec(link ?? '')?.[1]
  if (target === undefined) return undefined
  const [place, own] = [target, url].map((each) => each.replace(/[?#].*/, ''))
  const isPage = ['', own, own?.replace(/^https?:\/\/[^/]*/i, '')].includes(place)
  return (isPage && cursorOf(target)) || ''
}

/** Returns the cursor in the query of a URL; undefined if there is none. */
export function cursorOf(url: string): string | undefined {
  const [, text = ''] = /^[^?#]*\?(?:[^#]*&)?cursor=([^&#]*)/.exec(url) ?? []
  return orUndefined(() => decodeURIComponent(text.replaceAll('+', ' '))) || undefined
}

/** Sets a parameter in the query of a URL. */
export function setParameter(url: string, name: string, value: string): string {
  const [path, query = ''] = url.split('?')
  const others = query.split('&').filter((pair) => pair && !pair.startsWith(`${name}=`))
  return `${path}?${[...others, `${name}=${encodeURIComponent(value)}`].join('&')}`
}

/** Parses a URL; undefined if it is invalid. Not every runtime has `URL.canParse`. */
export function parseUrl(url: string, base?: string): URL | undefined {
  return orUndefined(() => new URL(url, base))
}
