import { RequestError } from './errors.ts'
import type { Fetch, Signal } from './fetch.ts'
import type { Hooks, Logger } from './hooks.ts'
import { readHeaders } from './wire/headers.ts'

/** A token, or a function that gets one. */
export type TokenSource = string | ((request: TokenRequest) => string | Promise<string>)

/** Why a token is asked for. */
export interface TokenRequest {
  /** The token that was given before was answered 401: a cached one has to be fetched anew. */
  readonly refused: boolean
}

/** What can be set for one call. It takes precedence over the option of the client. */
export interface CallOptions {
  /**
   * The access token, or a function that gets one. The function is asked once a call, and once more after a 401.
   * A token that is `undefined` is an error: only an option that is left out means the default.
   *
   * Default: the environment variable `PLANT_STORE_TOKEN`, where there is an environment.
   */
  token?: TokenSource

  /**
   * How long one attempt may take, in milliseconds: getting the token, connecting, and the whole answer. `Infinity`
   * sets no limit. To limit a call with all its attempts, give `signal: AbortSignal.timeout(ms)`.
   *
   * Default: 30000.
   */
  timeout?: number | undefined

  /**
   * How often a failed attempt is repeated: after a connection error, a timeout, or status 408, 429, 500, 502, 503 or
   * 504. The wait between two attempts is random, up to 300 ms before the first repetition, doubled with each and at
   * most 5 s, and longer where `Retry-After` asks for it. Where that asks for more than 60 s, the call fails at once
   * with `retryAfterMs`.
   *
   * Every operation of this service may be repeated: a plant is created once, however often it is sent.
   *
   * Default: 2. 0 sends one request.
   */
  retries?: number | undefined

  /**
   * Ends the call, also while it waits for the next attempt, with an `AbortError` that has the signal's reason. The
   * signal of the client and that of the call both hold.
   */
  signal?: Signal | undefined

  /**
   * Headers to send beside the client's own. Those of the call win over those of the client, and both over the
   * client's own, save `authorization`: that is always the `token`.
   */
  headers?: Readonly<Record<string, string>> | undefined

  /**
   * What sends the requests: a proxy agent, a test's fake.
   *
   * Default: the run time's `fetch`.
   */
  fetch?: Fetch | undefined

  /** Functions that are called with each attempt. Those of the call replace those of the client one by one. */
  hooks?: Hooks | undefined

  /**
   * Is told of each attempt (`debug`) and of each repetition (`warn`), in one line of text without any secret.
   * `console` is one.
   *
   * Default: none.
   */
  logger?: Logger | undefined
}

/** What can be set for a client. */
export interface ClientOptions extends CallOptions {
  /**
   * The address of the service, with or without a path, such as `https://example.com/plant-store`.
   * An address that is `undefined` is an error: the token must not go to another service than the one meant.
   *
   * Default: the environment variable `PLANT_STORE_URL`, where there is an environment.
   */
  baseUrl?: string
}

/** The options after defaults. */
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

const LONGEST_TIMER = 2 ** 31 - 1

/** Checks the options of a client and fills in the defaults. */
export function readClientOptions(options: ClientOptions): Settings {
  const defaults = {
    baseUrl: readBaseUrl(readGiven(options, 'baseUrl', environment('PLANT_STORE_URL'))),
    token: environment('PLANT_STORE_TOKEN') ?? missingToken,
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

/** Checks the options of a call and lays them over those of its client. */
export function readCallOptions(options: CallOptions, client: Settings): Settings {
  const token = readGiven(options, 'token', client.token)
  const { timeout = client.timeout, retries = client.retries } = options
  if (timeout !== Infinity && !(Number.isFinite(timeout) && timeout > 0 && timeout <= LONGEST_TIMER)) {
    throw new RequestError(`timeout: must be between 1 and ${LONGEST_TIMER} milliseconds, or Infinity`)
  }
  if (!(Number.isInteger(retries) && retries >= 0)) throw new RequestError('retries: must be 0 or a whole number above')
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
 * Reads an option that says whose a request is, or where it goes. Only one that is left out means the default: an
 * `undefined` is a value that was not found, and must neither send another's token nor reach another service.
 *
 * @throws RequestError
 */
function readGiven<Name extends 'token' | 'baseUrl', Default>(options: ClientOptions, name: Name, byDefault: Default) {
  if (typeof options !== 'object' || options === null) throw new RequestError('options: must be an object')
  // Inherited options count too: an instance of a class may have a getter.
  if (!(name in options)) return byDefault
  const given = options[name]
  if (given !== undefined) return given
  throw new RequestError(`${name}: is undefined; give a value, or leave the option out to use the default`)
}

/**
 * Refuses what is no token before a run time does, whose message would show it.
 *
 * @throws RequestError, which does not show it
 */
export function checkToken(token: unknown): asserts token is string {
  if (typeof token !== 'string') throw new RequestError('token: must be a string')
  if (token === '') throw new RequestError('token: is empty')
  if (!/^[\x21-\x7e]+$/.test(token)) throw new RequestError('token: has a character that no token has, such as a space')
}

function missingToken(): never {
  throw new RequestError('token: is missing; give the option `token` or set PLANT_STORE_TOKEN')
}

function readBaseUrl(baseUrl: string | undefined): string {
  if (baseUrl === undefined)
    throw new RequestError('baseUrl: is missing; give the option `baseUrl` or set PLANT_STORE_URL')
  if (!URL.canParse(baseUrl)) {
    throw new RequestError('baseUrl: is not a URL; write it as in https://example.com/plant-store')
  }
  const url = new URL(baseUrl)
  if (!/^https?:$/.test(url.protocol)) throw new RequestError('baseUrl: must begin with https:// or http://')
  if (url.username || url.password) throw new RequestError('baseUrl: must not have a user name or password in it')
  if (url.search || url.hash) throw new RequestError('baseUrl: must not have a query or a fragment')
  return url.href.replace(/\/+$/, '')
}

/** An environment variable, where there is an environment and it may be read: Deno asks for a permission. */
function environment(name: string): string | undefined {
  try {
    return globalThis.process?.env[name] || undefined
  } catch {
    return undefined
  }
}
