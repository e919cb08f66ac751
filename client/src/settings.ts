import type { CallOptions, ClientOptions, Hooks, Signal, TokenSource } from './options.ts'
import { orUndefined, rejectArgument, requireKnown } from './values.ts'
import { type HeaderFields, readHeaders } from './wire/request.ts'

/** Options with defaults applied. */
export interface Settings extends Pick<CallOptions, 'fetch' | 'retryDelay'> {
  readonly baseUrl: string
  readonly token: TokenSource | false
  readonly timeout: number
  readonly maxResponseBytes: number
  readonly retries: number
  /** How many points retries have cost. All clients that derive from one have the same object. */
  readonly budget: { spent: number }
  readonly signal: readonly Signal[]
  readonly headers: HeaderFields
  readonly hooks: readonly Hooks[]
}

/** Creates a check of an option. */
function must(expected: string, isValid: (value: never) => boolean) {
  return (value: unknown, _: unknown, path: string) =>
    isValid(value as never) ? value : rejectArgument(path, `must be ${expected}`)
}

const positive = must('a positive number', (value: unknown) => typeof value === 'number' && value > 0)
const callback = must('a function', (value: unknown) => typeof value === 'function')
const count = must('a non-negative integer', (value: number) => Number.isInteger(value) && value >= 0)

const HOOKS = ['request', 'response', 'error'] as const

/** Reads each option, by its value and that of the client. Their order is that of the checks. */
const READERS: Readonly<Record<string, (value: never, client: never, path: string) => unknown>> = {
  token: (token: unknown, _: unknown, path: string) => {
    if (token === false || typeof token === 'function') return token
    // That of a call may be a user's: if it cannot be sent, it fails like one that a function returns.
    return path === 'options.token' && whyNotToken(token) ? () => token : checkToken(token, path)
  },
  timeout: positive,
  maxResponseBytes: positive,
  retries: count,
  retryDelay: count,
  // The signal of another realm, or of a polyfill, is an instance of another class.
  signal: (signal: Signal, signals: Signal[], path: string) =>
    signal?.aborted === undefined ? rejectArgument(path, 'must be an AbortSignal') : signals.concat(signal),
  headers: (headers: unknown, others: HeaderFields, path: string) => ({ ...others, ...readHeaders(headers, path) }),
  fetch: callback,
  hooks: (hooks: Hooks | readonly (Hooks | undefined)[], others: Hooks[], path: string) => {
    const list = [hooks].flat().filter((each) => each !== undefined)
    for (const each of list) {
      requireKnown(each, HOOKS, path, `${path}.`)
      for (const name of HOOKS) if (each[name] !== undefined) callback(each[name], undefined, `${path}.${name}`)
    }
    return others.concat(list)
  },
}

/**
 * Validates the options of a client and applies the defaults.
 *
 * @throws {UsageError} if an option is invalid, or missing
 */
export function readClientOptions(options: ClientOptions): Settings {
  const token = readEnvironment('PLANT_STORE_TOKEN')
  const defaults = { token, timeout: 30_000, maxResponseBytes: 2 ** 28, retries: 2, signal: [], headers: {}, hooks: [] }
  const settings = mergeOptions(options, defaults, '', ['baseUrl'])
  // `in` also finds inherited options, such as the getters of a class.
  const baseUrl = readBaseUrl('baseUrl' in options ? options.baseUrl : readEnvironment('PLANT_STORE_URL'))
  if (!('token' in options)) checkToken(token, 'token')
  if (!settings.fetch && !globalThis.fetch) rejectArgument('fetch', 'is missing; set it')
  return { ...settings, baseUrl, budget: { spent: 0 } }
}

/**
 * Validates options and merges them into settings: those of a call into those of its client,
 * and these into the defaults.
 *
 * @param prefix what precedes the name of an option in an error
 * @param others options that are read elsewhere
 * @throws {UsageError} if an option is invalid
 */
export function mergeOptions(options: unknown, client: object, prefix: string, others: string[] = []): Settings {
  requireKnown(options, [...others, ...Object.keys(READERS)], 'options', prefix)
  const settings = { ...client } as Settings & Record<string, unknown>
  for (const [name, read] of Object.entries(READERS)) {
    const value = options[name]
    // An `undefined` token is a lookup that failed: the default could be another user's token.
    if (value === undefined && !(name === 'token' && name in options)) continue
    settings[name] = read(value as never, settings[name] as never, prefix + name)
  }
  if (settings.headers['authorization'] != null && settings.token !== false) rejectArgument(`${prefix}token`, CONFLICT)
  return settings
}

export const CONFLICT = 'must be false if headers have Authorization'

/**
 * Checks a token before the runtime does, whose error would show it.
 *
 * @throws {UsageError} if it is invalid
 */
function checkToken(token: unknown, path: string): unknown {
  const reason = whyNotToken(token)
  const fix = 'set it, or leave the option out and set PLANT_STORE_TOKEN; false is for none'
  return reason ? rejectArgument(path, `${reason}; ${fix}`) : token
}

/** Explains why a value is not a token; undefined: it is one. */
export function whyNotToken(token: unknown): string | undefined {
  if (token === undefined) return 'is undefined'
  return typeof token === 'string' && /^[!-~]+$/.test(token) ? undefined : 'must be ASCII text without whitespace'
}

/**
 * Reads the URL of a service.
 *
 * @throws {UsageError} if it is invalid, with what is wrong
 */
export function readBaseUrl(baseUrl = ''): string {
  const { location } = globalThis as { location?: { origin: string } }
  // URL parsers drop tabs, and read `//` and `/\` as the start of another origin.
  const isPath = /^\/(?!\/)[^\\\s]*$/.test(baseUrl)
  const origin = isPath ? location?.origin : undefined
  const url = orUndefined(() => new URL(baseUrl, origin).href) ?? ''
  if (!baseUrl) rejectArgument('baseUrl', 'is missing; set it, or leave the option out and set PLANT_STORE_URL')
  if (!/^https?:/i.test(url)) rejectArgument('baseUrl', 'must be an HTTP URL')
  if (/^\w+:..[^/]*@|[?#]/.test(url)) rejectArgument('baseUrl', 'must not have credentials, a query or a fragment')
  return url.replace(/\/+$/, '')
}

/** Reads an environment variable; undefined in a browser, and in Deno without the permission. */
function readEnvironment(name: string): string | undefined {
  return orUndefined(() => globalThis.process?.env[name] || undefined)
}
