// Everything that this file exports is public: `index.ts` exports all of it.
import type { PlantStoreError, ResponseHead, ResponseHeaders } from './errors.ts'
import type { OperationName } from './generated/routes.ts'

// These types fit the `fetch` of DOM types, of Node.js types and of undici, and an app that has none of them.

/** What the client passes to `fetch`. */
export interface FetchInit {
  readonly method: string
  /** Names in lower case. */
  readonly headers: Record<string, string>
  /** The JSON to send; absent for none. */
  readonly body?: string
  /** A redirect must not be followed: its target would get the token, and a GET instead of a POST. */
  readonly redirect: 'manual'
  readonly signal: Signal
}

/** What a `fetch` resolves to: the part of `Response` that the client uses. */
export interface FetchResponse {
  readonly status: number
  readonly headers: ResponseHeaders
  /** Whether `fetch` has followed a redirect, which is an error; React Native's has only the last `url`. */
  readonly redirected?: boolean
  readonly url?: string
  /** The bytes, as a `ReadableStream`; anything else where `fetch` has no streams, as in React Native. */
  readonly body?: unknown
  text(): Promise<string>
}

/** A function that sends a request, like `fetch`. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

/** The runtime's own `AbortSignal`. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Instance } }
  ? Instance
  : { readonly aborted: boolean }

/** A token, or a function that returns one. */
export type TokenSource = string | ((request: TokenRequest) => string | Promise<string>)

/** Why the client requests a token. */
export interface TokenRequest {
  /** The service responded 401 to the previous token, so a cached token is stale. */
  readonly rejected: boolean
}

/**
 * Headers: an object, `Headers`, or pairs. `undefined` is left out, `null` removes a header of the client or the SDK.
 */
export type HeadersOption =
  | Readonly<Record<string, string | null | undefined>>
  | Iterable<readonly [name: string, value: string | null | undefined]>
  | ResponseHeaders

/** One request of a call. All hooks of an attempt get the same object, so it can be the key of a `WeakMap`. */
export interface Attempt {
  readonly operation: OperationName
  /** The method, such as `POST`. */
  readonly method: string
  /** The complete URL. */
  readonly url: string
  /** 1 for the first attempt of a call, 2 for the next. */
  readonly number: number
  /** The request headers, names in lower case, without `authorization`. The `request` hook may add some. */
  readonly headers: Record<string, string>
}

/** The response of an attempt, for the `response` hook. */
export interface AttemptResponse extends ResponseHead {
  /** The time from the start of the attempt to the end of the response, in milliseconds. */
  readonly duration: number
}

/**
 * Functions that are called for each attempt: for logs, metrics and traces. The order of an attempt is `request`, then
 * the token, then the request itself, then `response` if one arrived completely, then `error` if the attempt failed. Of
 * several sets of hooks, those of the client run before the call's; `response` and `error` run only where `request` has
 * begun.
 *
 * @example
 * const client = createPlantStoreClient({
 *   hooks: {
 *     request: (attempt) => { attempt.headers.traceparent = currentTrace() },
 *     response: (attempt, { status, duration }) => histogram.record(duration, { operation: attempt.operation, status }),
 *   },
 * })
 */
export interface Hooks {
  /**
   * Runs before a request is sent, and may be async. If it throws, nothing is sent and the call fails. It may add the
   * header `authorization` only with `token: false`.
   */
  request?: ((attempt: Attempt) => unknown) | undefined
  /** Runs after a complete response, of any status. Its errors are ignored. */
  response?: ((attempt: Attempt, response: AttemptResponse) => unknown) | undefined
  /**
   * Runs after a failed attempt: no token, no response, or an error response. `retryDelay` is the delay before the next
   * attempt in milliseconds, undefined if there is none. Its errors are ignored.
   */
  error?: ((attempt: Attempt, error: PlantStoreError, retryDelay: number | undefined) => unknown) | undefined
}

/** The options of a call. They override the options of the client. An option that does not exist is an error. */
export interface CallOptions {
  /**
   * The access token, or a function that returns one. The function runs once per call, once more after a 401, and
   * again if an attempt ends before it returns, or it fails.
   * A token that is `undefined` is an error: omit the option to use the default. `false` sends no token, because a
   * proxy or a header `Authorization` of yours does; any other token together with such a header is an error.
   *
   * Default: the environment variable `PLANT_STORE_TOKEN`. A client without a token cannot be created: to give each
   * call its own, create the client with `false`.
   */
  token?: TokenSource | false

  /**
   * The maximum duration of one attempt in milliseconds, from getting the token to the end of the response. `Infinity`,
   * or more than 24 days, means no limit. To limit a call with all its retries, use `signal: AbortSignal.timeout(ms)`.
   *
   * Default: 30000.
   */
  timeout?: number | undefined

  /**
   * The maximum size of a response in bytes, after decompression, so that a service or a proxy cannot fill the memory.
   * A larger one is a `MalformedResponseError`, and its connection is closed. `Infinity` means no limit.
   *
   * Default: 268435456 (256 MiB): a list of a million plants has about 100 MB.
   */
  maxResponseBytes?: number | undefined

  /**
   * The maximum number of retries, after a connection error, a timeout, a failed token function, or status 408, 429,
   * 500, 502 to 504, or 520 to 524 and 530 of a CDN, whatever the body is, and after JSON that is cut. The delay before a
   * retry is random: up to `retryDelay` at first, doubling each time up to 5 s, plus `Retry-After`. If `Retry-After`
   * exceeds 60 s, the call fails immediately, with `retryAfterMs` on the error.
   *
   * A client spends at most 500 points on retries, so that they end in an outage: a retry costs 14, or 5 where the
   * service sheds load (status 429, or 503 with `Retry-After`). A call that succeeds brings back what its last retry
   * cost, or else 1. Clients of `withOptions` share those of their parent.
   *
   * An operation that is not safe to repeat says so in its description: it is retried only if the service certainly did
   * not process it, after status 408 or 429, or a failed token function.
   *
   * Default: 2.
   */
  retries?: number | undefined

  /**
   * The maximum delay before the first retry, in milliseconds: an integer, above 5000 the maximum of all.
   *
   * Default: 50, or 1000 where the service sheds load.
   */
  retryDelay?: number | undefined

  /**
   * Aborts the call, including while it waits for a retry, with an `AbortError` that has the signal's reason, or with a
   * `TimeoutError` if that is the reason. The signals of the client and the call both apply.
   */
  signal?: Signal | undefined

  /**
   * Additional request headers. The headers of the call override those of the client, and both override the SDK's own.
   * `Authorization` requires `token: false`.
   */
  headers?: HeadersOption | undefined

  /**
   * The function that sends requests, for a proxy or a test.
   *
   * Default: the runtime's `fetch`.
   */
  fetch?: Fetch | undefined

  /** Functions that are called for each attempt, or several sets of them. Those of the client run before the call's. */
  hooks?: Hooks | readonly (Hooks | undefined)[] | undefined
}

/** The options of a client. */
export interface ClientOptions extends CallOptions {
  /**
   * The URL of the service, with or without a path, such as `https://example.com/plant-store`. A URL that is
   * `undefined` is an error, because the default could send the token to the wrong service. In a browser it may be a
   * path of the page's origin, such as `/api`.
   *
   * Default: the environment variable `PLANT_STORE_URL`.
   */
  baseUrl?: string
}
