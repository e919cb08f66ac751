import { ConnectionError, type FailedCall, type PlantStoreError, RequestError } from '../errors.ts'

/**
 * What a bug looks like, as `name: message`. Only the texts of the JavaScript engines, of invalid arguments and of bodies
 * that were read before count: a network failure is a `TypeError` too, with any text, in any language.
 */
const BUG =
  /^(Reference|Range|Syntax)Error|^TypeError: (Cannot |can't |Invalid U|Failed to [cep]|Request(Init| with)|.*( is (not (an? |iter)|undefined|null)|Body (is|has|al)))/

/** Returns the error of a `fetch` that failed: of the network, or a `RequestError` if the function has a bug. */
export function toFetchError(cause: unknown, call: FailedCall, redact: (text: string) => string): PlantStoreError {
  const reason = redact(explain(cause))
  return BUG.test(String(cause))
    ? new RequestError(`fetch: the function failed: ${reason}`, call, { cause })
    : new ConnectionError(`connection failed: ${reason}`, call, { cause, kind: 'connection' })
}

/** Describes a network error by its cause, because its own message is only `fetch failed`. */
function explain(error: unknown): string {
  const { message = String(error), cause } = Object(error)
  return cause?.message || cause?.code || message
}

/** Replaces the token in a text from outside. A token of less than 8 characters may be a part of any word. */
export function redactToken(text: string, token = ''): string {
  if (token.length < 8) return text
  return text.replaceAll(token, '[token]').replaceAll(encodeURIComponent(token), '[token]')
}
