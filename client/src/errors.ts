// biome-ignore-all lint/complexity/noThisInStatic: `this` is the class on the right of `instanceof`, often a derived one.
import type { ResponseHeaders } from './fetch.ts'
import type { ErrorBody } from './generated/types.ts'

/** Tells errors apart: switch on it. */
export type ErrorKind =
  | 'api'
  | 'undeclared'
  | 'connection'
  | 'timeout'
  | 'aborted'
  | 'malformed-response'
  | 'token'
  | 'usage'

/** The call that an error belongs to. */
export interface FailedCall {
  readonly method: string
  readonly url: string
  /** How many requests were sent. */
  readonly attempts: number
}

/** A call that is being sent. */
export interface SentCall extends FailedCall {
  attempts: number
  /** The `Authorization` of the last request, which no error may show. */
  authorization: string | undefined
}

/** The status and headers of a response. */
export interface ResponseHead {
  /** The HTTP status, such as 200. 0 for a redirect in a browser, which hides it. */
  readonly status: number
  /** The headers of the response. */
  readonly headers: ResponseHeaders
  /** The `X-Request-Id` of the response, which identifies the request in the server logs. */
  readonly requestId: string | undefined
  /** The `Retry-After` of the response in milliseconds, if it has one. */
  readonly retryAfterMs: number | undefined
}

/**
 * The base class of every error of this package. `instanceof` also works across copies of the package.
 *
 * @example
 * try {
 *   await client.createPlant({ id: 1, name: 'Ficus' })
 * } catch (error) {
 *   if (!(error instanceof PlantStoreError)) throw error
 *   console.error(error.kind, error.message)
 * }
 */
export class PlantStoreError extends Error {
  /** Tells errors apart: switch on it. */
  declare readonly kind: ErrorKind
  /** The method of the request, such as `POST`. Undefined if the options of the client were invalid. */
  declare readonly method: string | undefined
  /** The URL of the request. Undefined if the options of the client were invalid. */
  declare readonly url: string | undefined
  /** How many requests were sent. */
  declare readonly attempts: number
  /** What is wrong, without the method and URL that `message` starts with. For an `ApiError`, the service's own text. */
  declare readonly detail: string
  /** Whether the client retries such an error while it has retries left. */
  declare readonly retryable: boolean

  /** @internal */
  constructor(
    reason: string,
    { method, url, attempts = 0 }: Partial<FailedCall> = {},
    { headers, ...fields }: Readonly<Record<string, unknown>> = {},
  ) {
    // `fields` is also the `ErrorOptions` of `Error`, which takes its `cause` and ignores the rest.
    super(url ? `${method} ${url}: ${reason}${attempts > 1 ? ` (attempt ${attempts})` : ''}` : reason, fields)
    // `timeout` of a `TimeoutError`, unless the fields have another kind.
    const kind = this.name.replace('Error', '').toLowerCase()
    Object.assign(this, { kind, method, url, attempts, detail: reason, retryable: false, ...fields })
    // Not enumerable, because a header may have a secret: `console.log`, `{ ...error }` and `toJSON` leave it out.
    if (headers) Object.defineProperty(this, 'headers', { value: headers })
  }

  /** Returns the fields that are safe to log, with the `body`: no headers or causes, and never the token. */
  toJSON(): Record<string, unknown> {
    return { name: this.name, message: this.message, ...(this as object) }
  }

  /**
   * Recognizes the errors of every copy of this package: an app may load it as ESM and as CommonJS, or in two versions,
   * whose classes are not the same objects. So `instanceof` looks for the brand of the class instead.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    const brand = brandOf(this.prototype.name)
    // A class that an app derives has no brand: the default check applies.
    return Object.hasOwn(this.prototype, brand) ? brand in Object(value) : super[Symbol.hasInstance](value)
  }
}

/** An error, with the head of the response if there was one. */
export type Failure = PlantStoreError & Partial<ResponseHead>

/** An error with the head of the response. */
abstract class ResponseError extends PlantStoreError implements ResponseHead {
  /** The HTTP status, such as 400. 0 for a redirect in a browser, which hides it. */
  declare readonly status: number
  /** The headers of the response. */
  declare readonly headers: ResponseHeaders
  /** The `X-Request-Id` of the response, which identifies the request in the server logs. */
  declare readonly requestId: string | undefined
  /** The `Retry-After` of the response in milliseconds, if it has one. */
  declare readonly retryAfterMs: number | undefined
}

/**
 * The service responded with an error: the body was `{ error, message }`.
 *
 * `kind` is `api` if the contract declares the status for the operation. Otherwise it is `undeclared`: the base URL is
 * wrong, or the service is newer than this package.
 *
 * @example
 * if (error instanceof ApiError && error.code === errorCodes.idTaken) pickAnotherId()
 */
export class ApiError extends ResponseError {
  declare readonly kind: 'api' | 'undeclared'
  /** The code from the error catalogue, such as 40003: compare it with `errorCodes`. */
  declare readonly code: number
  /** The body of the response. */
  declare readonly body: ErrorBody

  /** @internal */
  constructor(kind: 'api' | 'undeclared', body: ErrorBody, head: ResponseHead, call: FailedCall) {
    const { error: code, message: detail } = body
    super(`responded ${head.status} (${code}): ${detail}`, call, { ...head, kind, detail, code, body })
  }
}

/** The response is not one of the service, or did not arrive intact: a proxy's HTML page, truncated JSON, a redirect. */
export class MalformedResponseError extends ResponseError {
  declare readonly kind: 'malformed-response'
  /** The first 200 characters of a response that is not JSON, such as the page of a proxy. */
  declare readonly text: string | undefined

  /** @internal */
  constructor(reason: string, head: ResponseHead, call: FailedCall, text?: string) {
    const page = text ? `: ${text}` : ''
    super(`responded ${head.status} ${reason}${page}`, call, { ...head, kind: 'malformed-response', text })
  }
}

/** The connection failed: network, DNS or TLS. The original error is the `cause`. */
export class ConnectionError extends PlantStoreError {
  declare readonly kind: 'connection' | 'timeout'
}

/** An attempt took longer than `timeout`. */
export class TimeoutError extends ConnectionError {
  declare readonly kind: 'timeout'
}

/** The call was aborted by its `signal`. */
export class AbortError extends PlantStoreError {
  declare readonly kind: 'aborted'

  /** The reason of the signal, which is also the `cause`. */
  get reason(): unknown {
    return this.cause
  }
}

/** The `token` function failed. Its error is the `cause`. Nothing was sent. */
export class TokenError extends PlantStoreError {
  declare readonly kind: 'token'
}

/**
 * A value or an option is invalid, or a hook or `fetch` has a bug: the message names it, and the `cause` is the function's
 * error. Nothing was sent, unless `fetch` is that function.
 */
export class UsageError extends PlantStoreError {
  declare readonly kind: 'usage'
}

/** An `ApiError` with a status that the contract declares for the operation. */
export type DeclaredError<TStatus extends number> = ApiError & { readonly kind: 'api'; readonly status: TStatus }

/** An `ApiError` with a status that the contract does not declare for the operation. */
export type UndeclaredError = ApiError & { readonly kind: 'undeclared' }

/** The errors of every operation that do not come from the service. */
export type TransportError =
  | (ConnectionError & { readonly kind: 'connection' })
  | TimeoutError
  | AbortError
  | MalformedResponseError
  | TokenError
  | UsageError

// Names are on the prototypes, so that errors have no field for them. They are written here, because a minifier renames classes.
for (const [word, { prototype }] of Object.entries({
  PlantStore: PlantStoreError,
  Api: ApiError,
  MalformedResponse: MalformedResponseError,
  Connection: ConnectionError,
  Timeout: TimeoutError,
  Abort: AbortError,
  Token: TokenError,
  Usage: UsageError,
})) {
  const name = `${word}Error`
  Object.defineProperties(prototype, { name: { value: name }, [brandOf(name)]: { value: true } })
}

/** `Symbol.for` is shared by every copy of the package, unlike a symbol of a module. */
function brandOf(name: string): symbol {
  return Symbol.for(`@plant-store/client/${name}`)
}

/**
 * Makes a text from outside fit for a message: in one line, without control characters, and without the token of the call,
 * also one with escapes of a URL. A token of less than 8 characters may be a part of any word.
 */
export function redact(text: string, { authorization = '' }: SentCall): string {
  const token = authorization.replace(/.* /, '')
  const line = text.replace(/\p{Cc}+/gu, ' ')
  // Unlike `decodeURIComponent`, it accepts any text.
  const plain = unescape(line)
  return token.length < 8 ? line : (plain.includes(token) ? plain : line).replaceAll(token, '[token]')
}
