// biome-ignore-all lint/complexity/noThisInStatic: `this` is the class that is asked, often a derived one.
import type { ResponseHeaders } from './fetch.ts'
import type { ErrorBody } from './generated/types.ts'

/** What went wrong, in one word: switch on it. */
export type ErrorKind = 'api' | 'undeclared' | 'connection' | 'timeout' | 'aborted' | 'malformed-response' | 'request'

/** The call that an error belongs to. */
export interface FailedCall {
  readonly method: string
  readonly url: string
  /** How many requests were sent. */
  readonly attempts: number
}

/** The answer that an error was made from. */
export interface FailedAnswer {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined
}

/** What a log may show of an error: neither headers nor bodies nor causes. */
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
 * Every error of this package. `instanceof` also holds for the errors of another copy of the package.
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
  /** What went wrong, in one word. */
  readonly kind: ErrorKind
  /** The method of the request, such as `POST`. Undefined where the options of the client were wrong. */
  readonly method: string | undefined
  /** The URL of the request. Undefined where the options of the client were wrong. */
  readonly url: string | undefined
  /** How many requests were sent, the last one included. 0 where nothing was sent. */
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

  /** What a log may show: no headers, no bodies, no causes, and never the token. */
  toJSON(): Record<string, unknown> {
    const fields = this as Record<string, unknown>
    return Object.fromEntries(loggedFields.map((field) => [field, fields[field]]))
  }

  /** True of the errors of every copy of this package, not of this one alone. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    const brand = brandOf(this.prototype.name)
    // A class that a caller derives from one of these has no brand: it is recognised as any class is.
    if (!Object.hasOwn(this.prototype, brand)) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && brand in value
  }
}

/**
 * The service answered that it refuses or failed: the body was `{ error, message }`.
 *
 * `kind` is `api` where the contract declares the status for the operation, and `undeclared` where it does not: the
 * base URL is wrong, or the service is newer than this package.
 *
 * @example
 * if (error instanceof ApiError && error.code === errorCodes.idTaken) pickAnotherId()
 */
export class ApiError extends PlantStoreError {
  declare readonly kind: 'api' | 'undeclared'
  /** The HTTP status, such as 400. */
  declare readonly status: number
  /** The number of the error catalogue, such as 40003: compare it with `errorCodes`. */
  readonly code: number
  /** The body of the answer: what the service said in its own words. */
  readonly body: ErrorBody
  /** The headers of the answer. */
  declare readonly headers: ResponseHeaders
  /** The `X-Request-Id` of the answer: names this request in the logs of the server. */
  declare readonly requestId: string | undefined
  /** How long the service asks to wait before the next attempt, in milliseconds: its `Retry-After`. */
  declare readonly retryAfterMs: number | undefined

  /** @internal */
  constructor(kind: 'api' | 'undeclared', body: ErrorBody, answer: FailedAnswer, call: FailedCall) {
    super(kind, `answered ${answer.status} (${body.error}): ${body.message}`, call)
    this.code = body.error
    this.body = body
    Object.assign(this, answer)
  }
}

/**
 * What answered is not the service, or its answer did not arrive as it was written: a proxy's HTML page, JSON that is
 * cut off, a redirect.
 */
export class MalformedResponseError extends PlantStoreError {
  declare readonly kind: 'malformed-response'
  /** The HTTP status, such as 502. 0 for a redirect in a browser, which does not show it. */
  declare readonly status: number
  /** The headers of the answer. */
  declare readonly headers: ResponseHeaders
  /** The `X-Request-Id` of the answer, if it has one. */
  declare readonly requestId: string | undefined
  /** How long to wait before the next attempt, in milliseconds, if the answer has a `Retry-After`. */
  declare readonly retryAfterMs: number | undefined

  /** @internal */
  constructor(reason: string, answer: FailedAnswer, call: FailedCall) {
    super('malformed-response', `answered ${answer.status} ${reason}`, call)
    Object.assign(this, answer)
  }
}

/** No answer came, or it broke off: the network, the name, the certificate. The original error is the `cause`. */
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

/** The whole answer had not come when the `timeout` of the attempt was over. */
export class TimeoutError extends ConnectionError {
  declare readonly kind: 'timeout'

  /** @internal */
  constructor(timeout: number, call: FailedCall) {
    super(`no whole answer within ${timeout} ms`, call, undefined, 'timeout')
  }
}

/** The call was ended through its `signal`. */
export class AbortError extends PlantStoreError {
  declare readonly kind: 'aborted'
  /** The signal's own reason, which is the `cause` too. */
  readonly reason: unknown

  /** @internal */
  constructor(reason: unknown, call: FailedCall) {
    super('aborted', 'aborted by its signal', call, { cause: reason })
    this.reason = reason
  }
}

/** Nothing was sent, because it could not have been sent as it was meant: the message names the field or option. */
export class RequestError extends PlantStoreError {
  declare readonly kind: 'request'

  /** @internal */
  constructor(reason: string, call?: FailedCall, options?: { cause?: unknown }) {
    super('request', reason, call, options)
  }
}

/** A status that the contract declares for the operation. */
export type DeclaredError<TStatus extends number> = ApiError & { readonly kind: 'api'; readonly status: TStatus }

/** A status that the contract does not declare for the operation. */
export type UndeclaredError = ApiError & { readonly kind: 'undeclared' }

/** What can go wrong with every operation, whatever its contract declares. */
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
