import { ConnectionError, type FailedCall, type PlantStoreError, RequestError } from '../errors.ts'

/**
 * What a bug looks like, as `name: message`. Only the texts of the JavaScript engines, of invalid arguments and of bodies
 * that were read before count: a network failure is a `TypeError` too, with any text, in any language.
 */
const BUG =
  /^(Reference|Range|Syntax|Eval|Assertion)Error|^TypeError( \[|: (Cannot |can't |Headers|Invalid [Uh]|Failed to [cep]|Request(I| w)|.*(JSON|BigInt|empty array|'new'| is (not (a (fu|con|valid [HU])|an (ob|ins)|iter|async)|undefined|null)|Body [aih])))/

/** Returns the error of a `fetch` that failed: of the network, or a `RequestError` if the function has a bug. */
export function toFetchError(cause: unknown, call: FailedCall, redact: (text: string) => string): PlantStoreError {
  let text = ''
  let reason = ''
  try {
    text = String(cause)
    // The message of a network error is only `fetch failed`. Its cause explains it.
    const { message = text, cause: inner } = Object(cause)
    reason = redact(`: ${inner?.message || inner?.code || message}`)
  } catch {
    // Anything can be thrown, also what cannot be read.
  }
  return BUG.test(text)
    ? new RequestError(`fetch: the function failed${reason}`, call, { cause })
    : new ConnectionError(`connection failed${reason}`, call, { cause, kind: 'connection' })
}

/**
 * Replaces the token of an `Authorization` header in a text from outside, also one with escapes of a URL. A token of less
 * than 8 characters may be a part of any word.
 */
export function redactToken(text: string, authorization = ''): string {
  const token = authorization.replace(/.* /, '')
  if (token.length < 8 || text.length < token.length) return text
  // Unlike `decodeURIComponent`, it accepts any text.
  const plain = unescape(text)
  return (plain.includes(token) ? plain : text).replaceAll(token, '[token]')
}
