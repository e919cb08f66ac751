import { RequestError } from '../errors.ts'

/**
 * Normalizes header names to lower case.
 *
 * @throws RequestError if a header is invalid. The runtime's own error would show the value, which may be a secret.
 */
export function readHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  try {
    return Object.fromEntries(new Headers(headers))
  } catch {
    throw new RequestError('headers: contains an invalid name or value')
  }
}
