import type { Fetch, Signal } from './fetch.ts'
import type { Hooks, Logger } from './hooks.ts'
import { parseUrl } from './wire/link.ts'
import { readHeaders } from './wire/request.ts'
import { isObject, reject } from './wire/write.ts'

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
   * The access token, or a function that returns one. The function runs once per call, once more after a 401, and
   * again if an attempt ends before it returns.
   * A token that is `undefined` is an error: omit the option to use the default. `false` sends no token, because a proxy
   * adds it.
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
   * except `authorization`, which always carries the `token`, unless that is `false`. A header parameter of the operation
   * overrides them all.
   */
  headers?: Readonly<Record<string, string>> | undefined

  /**
   * The function that sends requests, for a proxy or a test.
   *
   * Default: the runtime's `fetch`.
   */
  fetch?: Fetch | undefined

  /** Functions that are called for each attempt, or several sets of them. Those of the client run before the call's. */
  hooks?: Hooks | readonly (Hooks | undefined)[] | undefined

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
  readonly token: TokenSource | false
  readonly timeout: number
  readonly retries: number
  readonly signal: readonly Signal[]
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: Fetch | undefined
  readonly hooks: readonly (Hooks | undefined)[]
  readonly logger: Logger | undefined
}

/**
 * Validates the options of a client and applies the defaults.
 *
 * @throws RequestError if an option is invalid
 */
export function readClientOptions(options: ClientOptions): Settings {
  const defaults = {
    baseUrl: readEnvironment('PLANT_STORE_URL') ?? '',
    // A client without a token can be created: a call may have one.
    token: readEnvironment('PLANT_STORE_TOKEN') ?? (() => ''),
    timeout: 30_000,
    retries: 2,
    signal: [],
    headers: {},
    fetch: undefined,
    hooks: [],
    logger: undefined,
  }
  checkNames(options, defaults)
  return mergeOptions(options, {
    ...defaults,
    baseUrl: readBaseUrl(readOption(options, 'baseUrl', defaults.baseUrl)),
  })
}

/**
 * Validates the options of a call and merges them into the settings of its client.
 *
 * @throws RequestError if an option is invalid
 */
export function readCallOptions(options: CallOptions, client: Settings): Settings {
  const { baseUrl: _, ...known } = client
  checkNames(options, known)
  return mergeOptions(options, client)
}

function checkNames(options: object, known: object): void {
  if (!isObject(options)) reject('options', 'must be an object')
  // The options may also be an instance of a class, which has fields of its own.
  if (options.constructor !== Object) return
  for (const name of Object.keys(options)) {
    if (name in known) continue
    const words = name
      .toLowerCase()
      .replace(/ur[il]|host|endp/, 'bas')
      .replace(/key|auth|secret/, 'tok')
    const nearest = Object.keys(known).find((option) => words.includes(option.slice(0, 3)))
    reject(name, `is not an option${nearest ? `; did you mean ${nearest}?` : ''}`)
  }
}

function mergeOptions(options: CallOptions, client: Settings): Settings {
  const token = readOption(options, 'token', client.token)
  const { timeout = client.timeout, retries = client.retries, fetch = client.fetch, logger = client.logger } = options
  if (typeof timeout !== 'number' || !(timeout > 0)) reject('timeout', 'must be a positive number')
  if (!Number.isInteger(retries) || retries < 0) reject('retries', 'must be a non-negative integer')
  if (token !== false && typeof token !== 'function') checkToken(token)
  return {
    ...client,
    timeout,
    retries,
    token,
    fetch,
    logger,
    signal: client.signal.concat(options.signal ?? []),
    hooks: client.hooks.concat(options.hooks ?? []),
    headers: { ...client.headers, ...(options.headers && readHeaders(options.headers)) },
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
  // `in` also finds inherited options, such as the getters of a class.
  if (!(name in options)) return defaultValue
  const value = options[name]
  return value === undefined ? reject(name, 'is undefined; omit the option to use the default') : value
}

/**
 * Checks a token before the runtime does, whose error would show it.
 *
 * @throws RequestError if the token is invalid
 */
export function checkToken(token: unknown): asserts token is string {
  if (typeof token === 'string' && /^[!-~]+$/.test(token)) return
  reject('token', 'set the option or PLANT_STORE_TOKEN to visible ASCII text')
}

function readBaseUrl(baseUrl: string): string {
  const { location } = globalThis as { location?: { origin: string } }
  // URL parsers drop tabs, and read `//` and `/\` as the start of another origin.
  const isPath = /^\/(?!\/)[^\\\s]*$/.test(baseUrl)
  const url = parseUrl(baseUrl, isPath ? location?.origin : undefined)?.href ?? ''
  if (/^https?:..[^/@]+\/[^?#]*$/.test(url)) return url.replace(/\/+$/, '')
  return reject(
    'baseUrl',
    'set the option or PLANT_STORE_URL to an HTTP URL or, in a browser, a path without credentials, query and fragment',
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
