import { RequestError } from './errors.ts'
import type { Fetch, Signal } from './fetch.ts'
import type { Hooks, Logger } from './hooks.ts'
import { readHeaders } from './wire/headers.ts'

/** A token, or a function that returns one. */
export type TokenSource = string | ((request: TokenRequest) => string | Promise<string>)

/** Why the client requests a token. */
export interface TokenRequest {
  /** The service responded 401 to the previous token, so a cached token is stale. */
  readonly rejected: boolean
}

/** The options of a call. They override the options of the client. */
export interface CallOptions {
  /**
   * The access token, or a function that returns one. The function runs once per call, and once more after a 401.
   * A token that is `undefined` is an error: omit the option to use the default.
   *
   * Default: the environment variable `PLANT_STORE_TOKEN`.
   */
  token?: TokenSource

  /**
   * The maximum duration of one attempt in milliseconds, from getting the token to the end of the response. `Infinity`
   * means no limit. To limit a call with all its retries, use `signal: AbortSignal.timeout(ms)`.
   *
   * Default: 30000.
   */
  timeout?: number | undefined

  /**
   * The maximum number of retries, after a connection error, a timeout, or status 408, 429, 500, 502, 503 or 504. The
   * delay before a retry is random: up to 300 ms at first, doubling each time up to 5 s, plus `Retry-After`. If
   * `Retry-After` exceeds 60 s, the call fails immediately, with `retryAfterMs` on the error.
   *
   * Every operation is safe to retry: a plant is created once, however often it is sent.
   *
   * Default: 2.
   */
  retries?: number | undefined

  /**
   * Aborts the call, including while it waits for a retry, with an `AbortError` that has the signal's reason. The
   * signals of the client and the call both apply.
   */
  signal?: Signal | undefined

  /**
   * Additional request headers. The headers of the call override those of the client, and both override the SDK's own,
   * except `authorization`, which always carries the `token`.
   */
  headers?: Readonly<Record<string, string>> | undefined

  /**
   * The function that sends requests, for a proxy or a test.
   *
   * Default: the runtime's `fetch`.
   */
  fetch?: Fetch | undefined

  /** Functions that are called for each attempt. Each hook of the call replaces the same hook of the client. */
  hooks?: Hooks | undefined

  /**
   * Logs each response (`debug`) and each retry (`warn`) as one line of text without secrets. Can be `console`.
   *
   * Default: none.
   */
  logger?: Logger | undefined
}

/** The options of a client. */
export interface ClientOptions extends CallOptions {
  /**
   * The URL of the service, with or without a path, such as `https://example.com/plant-store`. A URL that is
   * `undefined` is an error, because the default could send the token to the wrong service.
   *
   * Default: the environment variable `PLANT_STORE_URL`.
   */
  baseUrl?: string
}

/** Options with defaults applied. */
export interface Settings {
  readonly baseUrl: string
  readonly token: TokenSource
  readonly timeout: number
  readonly retries: number
  readonly signals: readonly Signal[]
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: Fetch | undefined
  readonly hooks: Hooks
  readonly logger: Logger | undefined
}

const MAX_TIMEOUT = 2 ** 31 - 1

/**
 * Validates the options of a client and applies the defaults.
 *
 * @throws RequestError if an option is invalid
 */
export function readClientOptions(options: ClientOptions): Settings {
  const defaults = {
    baseUrl: readBaseUrl(readOption(options, 'baseUrl', readEnvironment('PLANT_STORE_URL'))),
    token: readEnvironment('PLANT_STORE_TOKEN') ?? missingToken,
    timeout: 30_000,
    retries: 2,
    signals: [],
    headers: {},
    fetch: undefined,
    hooks: {},
    logger: undefined,
  }
  return readCallOptions(options, defaults)
}

/**
 * Validates the options of a call and merges them into the settings of its client.
 *
 * @throws RequestError if an option is invalid
 */
export function readCallOptions(options: CallOptions, client: Settings): Settings {
  const token = readOption(options, 'token', client.token)
  const { timeout = client.timeout, retries = client.retries } = options
  if (timeout !== Infinity && !(Number.isFinite(timeout) && timeout > 0 && timeout <= MAX_TIMEOUT)) {
    throw new RequestError(`timeout: must be between 1 and ${MAX_TIMEOUT} milliseconds, or Infinity`)
  }
  if (!(Number.isInteger(retries) && retries >= 0)) throw new RequestError('retries: must be a non-negative integer')
  if (typeof token !== 'function') checkToken(token)
  return {
    ...client,
    timeout,
    retries,
    token,
    signals: options.signal ? [...client.signals, options.signal] : client.signals,
    headers: options.headers ? { ...client.headers, ...readHeaders(options.headers) } : client.headers,
    fetch: options.fetch ?? client.fetch,
    hooks: { ...client.hooks, ...options.hooks },
    logger: options.logger ?? client.logger,
  }
}

/**
 * Reads an option that decides who sends a request, or where to. An `undefined` is a lookup that failed: the default
 * would then send somebody else's token, or send it to the wrong service.
 *
 * @throws RequestError if the option is undefined
 */
function readOption<Name extends 'token' | 'baseUrl', Default>(
  options: ClientOptions,
  name: Name,
  defaultValue: Default,
) {
  if (typeof options !== 'object' || options === null) throw new RequestError('options: must be an object')
  // `in` also finds inherited options, such as the getters of a class.
  if (!(name in options)) return defaultValue
  const value = options[name]
  if (value !== undefined) return value
  throw new RequestError(`${name}: is undefined; set a value, or omit the option to use the default`)
}

/**
 * Checks a token before the runtime does, whose error would show it.
 *
 * @throws RequestError if the token is invalid
 */
export function checkToken(token: unknown): asserts token is string {
  if (typeof token !== 'string') throw new RequestError('token: must be a string')
  if (token === '') throw new RequestError('token: is empty')
  if (!/^[\x21-\x7e]+$/.test(token)) throw new RequestError('token: contains an invalid character, such as a space')
}

function missingToken(): never {
  throw new RequestError('token: is missing; set the `token` option or PLANT_STORE_TOKEN')
}

function readBaseUrl(baseUrl: string | undefined): string {
  if (baseUrl === undefined) throw new RequestError('baseUrl: is missing; set the `baseUrl` option or PLANT_STORE_URL')
  if (!URL.canParse(baseUrl)) {
    throw new RequestError('baseUrl: is not a URL; use a URL such as https://example.com/plant-store')
  }
  const url = new URL(baseUrl)
  if (!/^https?:$/.test(url.protocol)) throw new RequestError('baseUrl: must start with https:// or http://')
  if (url.username || url.password) throw new RequestError('baseUrl: must not contain a user name or password')
  if (url.search || url.hash) throw new RequestError('baseUrl: must not contain a query or fragment')
  return url.href.replace(/\/+$/, '')
}

/** Reads an environment variable; undefined in a browser, and in Deno without the permission. */
function readEnvironment(name: string): string | undefined {
  try {
    return globalThis.process?.env[name] || undefined
  } catch {
    return undefined
  }
}
