import { reject } from './write-scalar.ts'

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
