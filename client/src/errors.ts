// Everything that this file exports is public: `index.ts` exports all of it.
// biome-ignore-all lint/complexity/noThisInStatic: `this` is the class on the right of `instanceof`, often a derived one.
import type { ErrorCode } from './generated/error-codes.ts'
import type { ErrorBody } from './generated/types.ts'

/** What errors and responses know of their call. */
export interface CallInfo {
  readonly method: string
  readonly url: string
  /** How many requests were sent. */
  readonly attempts: number
  /** The failure of the attempt before. */
  readonly lastFailure?: PlantStoreError | undefined
}

/** The headers of a response: the part of `Headers` that every runtime has. */
export interface ResponseHeaders {
  /** Returns the value of a header, `null` if it is absent. Names are case-insensitive. */
  get(name: string): string | null
  has(name: string): boolean
  forEach(callback: (value: string, name: string) => void): void
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

/** What is wrong with a field of the input, or with an option. */
export interface Issue {
  /** The name of the field, such as `id`; an option of a call is `options.timeout`. */
  readonly path: string
  readonly message: string
}

/** What all errors have. */
abstract class BaseError extends Error {
  /** Tells errors apart: switch on it. */
  declare abstract readonly kind: string
  /**
   * The method of the request, such as `POST`. Undefined if the options of the client were invalid, or without a call.
   */
  declare readonly method: string | undefined
  /** The URL of the request. Undefined where `method` is. */
  declare readonly url: string | undefined
  /** How many requests were sent. */
  declare readonly attempts: number
  /**
   * What is wrong, without the method and URL that `message` starts with. For an `ApiError`, the service's own text.
   */
  declare readonly detail: string
  /** Whether the client retries such an error while it has retries left. */
  declare readonly retryable: boolean
  /** What the attempt before failed with, such as the 503 before a timeout. Undefined for the first attempt. */
  declare readonly lastFailure: PlantStoreError | undefined

  /** @internal */
  constructor(
    kind: string,
    detail: string,
    call: Partial<CallInfo> = {},
    { headers, reason, ...fields }: Readonly<Record<string, unknown>> = {},
  ) {
    const { method, url, attempts = 0, lastFailure } = call
    // `fields` is also the `ErrorOptions` of `Error`, which takes its `cause` and ignores the rest.
    super(url ? `${method} ${shorten(url)}: ${detail}${attempts > 1 ? ` (attempt ${attempts})` : ''}` : detail, fields)
    Object.assign(this, { kind, method, url, attempts, detail, retryable: false, ...fields })
    // Not enumerable, because they may have a secret: `console.log`, `{ ...error }` and `toJSON` leave them out.
    const hidden = { headers: { value: headers }, reason: { value: reason }, lastFailure: { value: lastFailure } }
    Object.defineProperties(this, hidden)
  }

  /** Returns the fields that are safe to log, with the `body`: no headers and no cause. */
  toJSON(): Record<string, unknown> {
    return { name: this.name, message: this.message, ...(this as object) }
  }

  /**
   * Recognizes the errors of every copy of this package: an app may load it as ESM and as CommonJS, or in two versions,
   * whose classes are not the same objects. So `instanceof` looks for the mark of the class instead.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    const mark = markOf(this.prototype.name)
    // A class that an app derives has no mark of its own: the default check applies.
    return Object.hasOwn(this.prototype, mark) ? mark in Object(value) : super[Symbol.hasInstance](value)
  }
}

/** Cuts a URL, or a text with one, which would fill a message. */
function shorten(text: string): string {
  return text.replace(/^(.{200}).+/, '$1…')
}

/**
 * Returns the mark of a class of this package, which its prototype has. `Symbol.for` is shared by every copy of the
 * package, unlike a symbol of a module.
 */
const markOf = (name: string) => Symbol.for(`@plant-store/client/${name}`)

/** An error with the head of the response. */
abstract class ResponseError extends BaseError implements ResponseHead {
  declare readonly status: number
  declare readonly headers: ResponseHeaders
  declare readonly requestId: string | undefined
  declare readonly retryAfterMs: number | undefined
}

/**
 * The service responded with an error: the body was `{ error, message }`.
 *
 * @example
 * if (error instanceof ApiError && error.code === errorCodes.idTaken) pickAnotherId()
 */
export class ApiError extends ResponseError {
  declare readonly kind: 'api'
  /**
   * The code from the error catalogue, such as 40003: compare it with `errorCodes`. A later service may have others.
   */
  declare readonly code: ErrorCode | (number & {})
  /** The body of the response. */
  declare readonly body: ErrorBody
  /** The fields that the service rejects, each with what is wrong; empty for an error that is not about fields. */
  declare readonly issues: readonly Issue[]

  /** @internal */
  constructor(body: ErrorBody, head: ResponseHead, call: Partial<CallInfo>) {
    const { error: code, message: detail } = body
    const issues = readIssues(code, detail)
    super('api', `responded ${head.status} (${code}): ${detail}`, call, { ...head, detail, code, body, issues })
  }
}

/**
 * Reads a message such as `id: is required; name: must be a string`, which the errors `invalidBody`, `idTaken` and
 * `invalidQuery` have. Their codes are written here, since a bundle has no other.
 */
function readIssues(code: number, message: string): Issue[] {
  if (code < 40002 || code > 40004) return []
  // The service names a few. A hostile one could name a million, which would block the app for seconds.
  return message.split('; ', 100).flatMap((part) => {
    const [, path, reason] = /^([\w.-]+): (.+)/s.exec(part) ?? []
    return path && reason ? [{ path, message: reason }] : []
  })
}

/**
 * The response is not one of the service, or did not arrive intact: a proxy's HTML page, truncated JSON, a redirect,
 * more bytes than `maxResponseBytes`.
 */
export class MalformedResponseError extends ResponseError {
  declare readonly kind: 'malformed-response'
  /** The first 200 characters of a response that is not JSON, or whose status is 5xx. */
  declare readonly text: string | undefined

  /** @internal */
  constructor(reason: string, head: ResponseHead, call: CallInfo, text = '', isCut = false) {
    const detail = `responded ${head.status} with ${shorten(reason)}${text && `: ${text}`}`
    super('malformed-response', detail, call, { ...head, text: text || undefined, retryable: isCut })
  }
}

/**
 * The request failed without a response: network, DNS, TLS, or a `fetch` function that threw, or returned no
 * readable response. Its error is the `cause`.
 */
export class ConnectionError extends BaseError {
  declare readonly kind: 'connection' | 'timeout'
}

/**
 * An attempt took longer than `timeout`, or the `signal` was that of `AbortSignal.timeout`. The `cause` is the last
 * failure, or else the reason of the signal.
 */
export class TimeoutError extends ConnectionError {
  declare readonly kind: 'timeout'
}

/** The call was aborted by its `signal`. The `cause` is the last failure, or else the reason. */
export class AbortError extends BaseError {
  declare readonly kind: 'aborted'
  /** The reason of the signal. */
  declare readonly reason: unknown
}

/**
 * The `token` function failed, and its error is the `cause`; or the token that it returned, or that the call was given,
 * cannot be sent. Then `retryable` is false: an app that passes on the tokens of its users responds 401.
 */
export class TokenError extends BaseError {
  declare readonly kind: 'token'
}

/**
 * The input or an option is invalid, or a `request` hook failed, whose error is the `cause`. The attempt was not sent.
 */
export class UsageError extends BaseError {
  declare readonly kind: 'usage'
  /** Each field or option that is wrong, and why. */
  declare readonly issues: readonly Issue[]

  /** @internal */
  constructor(issues: readonly Issue[], call?: CallInfo, cause?: unknown) {
    const reason = issues.map(({ path, message }) => `${path}: ${message}`).join('; ')
    super('usage', reason, call, { issues, ...(cause !== undefined && { cause }) })
  }
}

/** Every error of this package. `kind` tells them apart. */
export type PlantStoreError =
  | ApiError
  | MalformedResponseError
  | (ConnectionError & { readonly kind: 'connection' })
  | TimeoutError
  | AbortError
  | TokenError
  | UsageError

/**
 * What every error of this package is an instance of, also those of other copies of it.
 *
 * @example
 * try {
 *   await client.createPlant({ id: 1, name: 'Ficus' })
 * } catch (error) {
 *   if (!(error instanceof PlantStoreError)) throw error
 *   if (error.kind === 'api') console.error(error.status, error.code)
 * }
 */
export const PlantStoreError: (abstract new (
  ...parameters: never[]
) => PlantStoreError) & {
  readonly prototype: PlantStoreError
} = BaseError as never

/** Tells errors apart: switch on it. */
export type ErrorKind = PlantStoreError['kind']

// Names are on the prototypes, so that errors have no field for them. They are written here,
// because a minifier renames classes.
for (const [name, { prototype }] of Object.entries({
  PlantStoreError: BaseError,
  ApiError,
  MalformedResponseError,
  ConnectionError,
  TimeoutError,
  AbortError,
  TokenError,
  UsageError,
})) {
  Object.assign(prototype, { name, [markOf(name)]: true })
}
