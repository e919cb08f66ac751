import { RequestError } from '../errors.ts'

/**
 * Headers with their names in lower case.
 *
 * @throws RequestError where one cannot be sent. The run time's own error would show the value, which may be a secret.
 */
export function readHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  try {
    return Object.fromEntries(new Headers(headers))
  } catch {
    throw new RequestError('headers: has a name or a value that cannot be sent')
  }
}
