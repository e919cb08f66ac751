import type { Fetch, HeaderFields, ResponseHeaders, Signal } from './fetch.ts'
import { type Hooks, type Logger, type LogLevel, listHooks, logHooks } from './hooks.ts'
import { parseUrl, readHeaders } from './wire/request.ts'
import { reject, requireKnown } from './wire/write.ts'

/** A token, or a function that returns one. */
export type TokenSource = string | ((request: TokenRequest) => string | Promise<string>)

/** Why the client requests a token. */
export interface TokenRequest {
  /** The service responded 401 to the previous token, so a cached token is stale. */
  readonly rejected: boolean
}

/** Headers: an object, `Headers`, or pairs. `undefined` is left out, `null` removes a header of the client or the SDK. */
export type HeadersOption =
  | Readonly<Record<string, string | null | undefined>>
  | Iterable<readonly [name: string, value: string | null | undefined]>
  | ResponseHeaders

/** The options of a call. They override the options of the client. An option that does not exist is an error. */
export interface CallOptions {
  /**
   * The access token, or a function that returns one. The function runs once per call, once more after a 401, and
   * again if an attempt ends before it returns, or it fails.
   * A token that is `undefined` is an error: omit the option to use the default. `false` sends no token, because a proxy
   * or a header `Authorization` of yours does; any other token together with such a header is an error.
   *
   * Default: the environment variable `PLANT_STORE_TOKEN`.
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
   * The maximum number of retries, after a connection error, a timeout, a failed token function, or status 408, 429, 500,
   * 502, 503 or 504. The delay before a retry is random: up to 300 ms at first, doubling each time up to 5 s, plus
   * `Retry-After`. If `Retry-After` exceeds 60 s, the call fails immediately, with `retryAfterMs` on the error.
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
   * Additional request headers. The headers of the call override those of the client, and both override the SDK's own. A
   * header parameter of the operation overrides them all. `Authorization` requires `token: false`.
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

  /**
   * Gets lines of text without secrets. Can be `console`.
   *
   * Default: `console` if there is a `logLevel`, otherwise none.
   */
  logger?: Logger | undefined

  /**
   * What is logged: `warn` each retry, `info` also each response, `debug` also each request, `off` nothing.
   *
   * Default: the environment variable `PLANT_STORE_LOG`; otherwise `warn` if there is a `logger`.
   */
  logLevel?: LogLevel | undefined
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

/** Options with defaults applied. */
export interface Settings {
  readonly baseUrl: string
  /** Undefined if there is none, which is an error of a call. */
  readonly token: TokenSource | false | undefined
  readonly timeout: number
  readonly retries: number
  readonly signal: readonly Signal[]
  readonly headers: HeaderFields
  readonly fetch: Fetch | undefined
  readonly hooks: readonly Hooks[]
  readonly logger: Logger | undefined
  readonly logLevel: LogLevel | undefined
}

/**
 * Validates the options of a client and applies the defaults.
 *
 * @throws UsageError if an option is invalid
 */
export function readClientOptions(options: ClientOptions): Settings {
  const defaults: Settings = {
    baseUrl: readEnvironment('PLANT_STORE_URL') ?? '',
    // A client without a token can be created: a call may have one.
    token: readEnvironment('PLANT_STORE_TOKEN'),
    timeout: 30_000,
    retries: 2,
    signal: [],
    headers: {},
    fetch: undefined,
    hooks: [],
    logger: undefined,
    logLevel: undefined,
  }
  requireOptions(options, Object.keys(defaults))
  const baseUrl = readBaseUrl(readOption(options, 'baseUrl', defaults.baseUrl))
  const settings = mergeOptions(options, { ...defaults, baseUrl })
  const logLevel = readEnvironment('PLANT_STORE_LOG') as LogLevel | undefined
  try {
    return mergeOptions({ logLevel: settings.logLevel ?? logLevel }, settings)
  } catch (error) {
    // The variable is set from outside of the code, which must not fail because of it.
    console.warn(`PLANT_STORE_LOG: ${(error as Error).message}`)
    return settings
  }
}

/**
 * Validates the options of a call and merges them into the settings of its client.
 *
 * @throws UsageError if an option is invalid
 */
export function readCallOptions(options: CallOptions, client: Settings): Settings {
  requireOptions(
    options,
    Object.keys(client).filter((name) => name !== 'baseUrl'),
  )
  return mergeOptions(options, client)
}

function requireOptions(options: object, known: readonly string[]): void {
  requireKnown(options, known, 'options', (name) => {
    const words = name
      .toLowerCase()
      .replace(/ur[il]|host|endp/, 'bas')
      .replace(/key|auth|secret/, 'tok')
    const nearest = known.find((option) => words.includes(option.slice(0, 3)))
    const hint = nearest ? `; did you mean ${nearest}?` : ''
    return reject(name, `is not an option${/^idem/.test(words) ? '; every call is already safe to repeat' : hint}`)
  })
}

function mergeOptions(options: CallOptions, client: Settings): Settings {
  const token = readOption(options, 'token', client.token)
  const { timeout = client.timeout, retries = client.retries, fetch = client.fetch } = options
  const { signal, hooks = [], logger = client.logger, logLevel = client.logLevel } = options
  if (typeof timeout !== 'number' || !(timeout > 0)) reject('timeout', 'must be a positive number')
  if (!Number.isInteger(retries) || retries < 0) reject('retries', 'must be a non-negative integer')
  // Of another realm or a polyfill, it has another class.
  if (signal !== undefined && Object(signal).aborted === undefined) reject('signal', 'must be an AbortSignal')
  if ('token' in options && token !== false && typeof token !== 'function') checkToken(token)
  const headers = { ...client.headers, ...(options.headers !== undefined && readHeaders(options.headers)) }
  if (headers['authorization'] && token !== false) reject('token', 'must be false if headers have Authorization')
  logHooks(logger, logLevel === undefined && logger !== undefined ? 'warn' : logLevel)
  return {
    ...client,
    ...{ timeout, retries, token, headers, fetch, logger, logLevel },
    signal: client.signal.concat(signal ?? []),
    hooks: client.hooks.concat(listHooks(hooks)),
  }
}

/**
 * Reads an option that decides who sends a request, or where to. An `undefined` is a lookup that failed: the default
 * would then send somebody else's token, or send it to the wrong service.
 *
 * @throws UsageError if the option is undefined
 */
function readOption<Name extends 'token' | 'baseUrl', Default>(
  options: ClientOptions,
  name: Name,
  defaultValue: Default,
) {
  // `in` also finds inherited options, such as the getters of a class.
  if (!(name in options)) return defaultValue
  const value = options[name]
  return value === undefined ? reject(name, 'is undefined; omit the option to use the default') : value
}

/**
 * Checks a token before the runtime does, whose error would show it.
 *
 * @param subject what has the token: the option, or a function that returned it
 * @throws UsageError if the token is invalid
 */
export function checkToken(token: unknown, subject = 'is'): asserts token is string {
  if (typeof token === 'string' && /^[!-~]+$/.test(token)) return
  const kind =
    typeof token !== 'string'
      ? `${token && typeof token}`
      : !token
        ? 'missing'
        : /\s/.test(token)
          ? 'text with a space or a line break'
          : 'not visible ASCII'
  reject('token', `${subject} ${kind}; set the option or PLANT_STORE_TOKEN to the token alone`)
}

/**
 * Reads the URL of a service.
 *
 * @throws UsageError if it is invalid, with what is wrong
 */
export function readBaseUrl(baseUrl: string): string {
  const { location } = globalThis as { location?: { origin: string } }
  // URL parsers drop tabs, and read `//` and `/\` as the start of another origin.
  const isPath = /^\/(?!\/)[^\\\s]*$/.test(baseUrl)
  const url = parseUrl(baseUrl, isPath ? location?.origin : undefined)?.href ?? ''
  if (/^https?:..[^/@]+\/[^?#]*$/.test(url)) return url.replace(/\/+$/, '')
  const fail = (reason: string): never => reject('baseUrl', reason)
  if (!baseUrl) fail('is missing; set the option or PLANT_STORE_URL')
  // `localhost:3000` parses as a URL with the scheme `localhost`.
  if (!isPath && !/^[a-z]+:\D/i.test(baseUrl)) fail('must have a scheme, such as https://')
  if (isPath && !location) fail('must be a complete URL outside of a browser')
  if (!url.startsWith('http')) fail('must be an HTTP URL')
  return fail(
    /^\w+:..[^/]*@/.test(url)
      ? 'must not have credentials; use the option token'
      : 'must not have a query or a fragment',
  )
}

/** Reads an environment variable; undefined in a browser, and in Deno without the permission. */
function readEnvironment(name: string): string | undefined {
  try {
    return globalThis.process?.env[name] || undefined
  } catch {
    return undefined
  }
}
