// biome-ignore-all lint/complexity/noThisInStatic: `this` is the class on the right of `instanceof`, often a derived one.
import type { ResponseHeaders } from './fetch.ts'
import type { ErrorBody } from './generated/types.ts'

/** Tells errors apart: switch on it. */
export type ErrorKind = 'api' | 'undeclared' | 'connection' | 'timeout' | 'aborted' | 'malformed-response' | 'request'

/** The call that an error belongs to. */
export interface FailedCall {
  readonly method: string
  readonly url: string
  /** How many requests were sent. */
  readonly attempts: number
}

/** The status and headers of a response. */
export interface ResponseHead {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined
}

/** The fields that are safe to log: no headers, bodies or causes. */
const loggedFields = [
  'name',
  'kind',
  'message',
  'method',
  'url',
  'attempts',
  'status',
  'code',
  'requestId',
  'retryAfterMs',
] as const

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
  readonly kind: ErrorKind
  /** The method of the request, such as `POST`. Undefined if the options of the client were invalid. */
  readonly method: string | undefined
  /** The URL of the request. Undefined if the options of the client were invalid. */
  readonly url: string | undefined
  /** How many requests were sent. */
  readonly attempts: number

  /** @internal */
  constructor(kind: ErrorKind, reason: string, call?: FailedCall, options?: { cause?: unknown }) {
    const afterAttempts = call && call.attempts > 1 ? ` (attempt ${call.attempts})` : ''
    super(call ? `${call.method} ${call.url}: ${reason}${afterAttempts}` : reason, options)
    this.kind = kind
    this.method = call?.method
    this.url = call?.url
    this.attempts = call?.attempts ?? 0
  }

  /** Returns the fields that are safe to log: no headers, bodies or causes, and never the token. */
  toJSON(): Record<string, unknown> {
    const fields = this as Record<string, unknown>
    return Object.fromEntries(loggedFields.map((field) => [field, fields[field]]))
  }

  /** Recognizes the errors of every copy of this package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    const brand = brandOf(this.prototype.name)
    // A class that an app derives has no brand: the default check applies.
    if (!Object.hasOwn(this.prototype, brand)) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && brand in value
  }
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
export class ApiError extends PlantStoreError {
  declare readonly kind: 'api' | 'undeclared'
  /** The HTTP status, such as 400. */
  declare readonly status: number
  /** The code from the error catalogue, such as 40003: compare it with `errorCodes`. */
  readonly code: number
  /** The body of the response. */
  readonly body: ErrorBody
  /** The headers of the response. */
  declare readonly headers: ResponseHeaders
  /** The `X-Request-Id` of the response, which identifies the request in the server logs. */
  declare readonly requestId: string | undefined
  /** The `Retry-After` of the response, in milliseconds. */
  declare readonly retryAfterMs: number | undefined

  /** @internal */
  constructor(kind: 'api' | 'undeclared', body: ErrorBody, head: ResponseHead, call: FailedCall) {
    super(kind, `responded ${head.status} (${body.error}): ${body.message}`, call)
    this.code = body.error
    this.body = body
    Object.assign(this, head)
  }
}

/** The response is not one of the service, or did not arrive intact: a proxy's HTML page, truncated JSON, a redirect. */
export class MalformedResponseError extends PlantStoreError {
  declare readonly kind: 'malformed-response'
  /** The HTTP status, such as 502. 0 for a redirect in a browser, which hides it. */
  declare readonly status: number
  /** The headers of the response. */
  declare readonly headers: ResponseHeaders
  /** The `X-Request-Id` of the response, if it has one. */
  declare readonly requestId: string | undefined
  /** The `Retry-After` of the response in milliseconds, if it has one. */
  declare readonly retryAfterMs: number | undefined

  /** @internal */
  constructor(reason: string, head: ResponseHead, call: FailedCall) {
    super('malformed-response', `responded ${head.status} ${reason}`, call)
    Object.assign(this, head)
  }
}

/** The connection failed: network, DNS or TLS. The original error is the `cause`. */
export class ConnectionError extends PlantStoreError {
  declare readonly kind: 'connection' | 'timeout'

  /** @internal */
  constructor(
    reason: string,
    call: FailedCall,
    options?: { cause?: unknown },
    kind: 'connection' | 'timeout' = 'connection',
  ) {
    super(kind, reason, call, options)
  }
}

/** An attempt took longer than `timeout`. */
export class TimeoutError extends ConnectionError {
  declare readonly kind: 'timeout'

  /** @internal */
  constructor(timeout: number, call: FailedCall) {
    super(`timed out after ${timeout} ms`, call, undefined, 'timeout')
  }
}

/** The call was aborted by its `signal`. */
export class AbortError extends PlantStoreError {
  declare readonly kind: 'aborted'
  /** The reason of the signal, which is also the `cause`. */
  readonly reason: unknown

  /** @internal */
  constructor(reason: unknown, call: FailedCall) {
    super('aborted', 'aborted by the signal', call, { cause: reason })
    this.reason = reason
  }
}

/** Nothing was sent, because a value or an option is invalid: the message names it. */
export class RequestError extends PlantStoreError {
  declare readonly kind: 'request'

  /** @internal */
  constructor(reason: string, call?: FailedCall, options?: { cause?: unknown }) {
    super('request', reason, call, options)
  }
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
  | RequestError

for (const [name, { prototype }] of Object.entries({
  PlantStoreError,
  ApiError,
  MalformedResponseError,
  ConnectionError,
  TimeoutError,
  AbortError,
  RequestError,
})) {
  Object.defineProperty(prototype, 'name', { value: name })
  Object.defineProperty(prototype, brandOf(name), { value: true })
}

function brandOf(name: string): symbol {
  return Symbol.for(`@plant-store/client/${name}`)
}
