import type { HeaderFields } from '../fetch.ts'
import { reject } from './values.ts'

/** The version of this package: that of `package.json`. `npm run changeset -- version` sets it, and a test compares them. */
const VERSION = '1.0.0'

/**
 * Returns the headers that every request has. In a browser there is no `user-agent`, because an extra header needs the
 * permission of a service at another origin.
 */
export function defaultHeaders(body: string | undefined): HeaderFields {
  // Of all runtimes, only Node.js 20 has no navigator.
  const runtime = (globalThis as { navigator?: { userAgent: string } }).navigator?.userAgent ?? 'Node.js'
  const type = 'application/json'
  return {
    accept: type,
    'content-type': body === undefined ? null : type,
    'user-agent': /^Mozilla/.test(runtime) ? null : `plant-store-client/${VERSION} (${runtime})`,
  }
}

/**
 * Reads headers: an object, `Headers`, or pairs.
 *
 * @throws UsageError if a header is invalid. The runtime's own error would show the value, which may be a secret.
 */
export function readHeaders(headers: unknown, path: string): HeaderFields {
  if (!headers || typeof headers !== 'object') reject(path, 'must be an object')
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
      reject(`${path}.${/^[\w-]*/.exec(`${name}`)}`, 'must be a valid text')
    }
  }
  return fields
}

/** Removes the headers that are `null`. */
export function withoutNull(headers: HeaderFields): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null)) as Record<string, string>
}
