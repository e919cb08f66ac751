/** The settings: what each accepts, its default and its description. */
import { DEFAULT_DATABASE_URL, databaseUrl, StorageError } from '@plant-store/prisma'
import * as z from 'zod'
import { MAX_TIMER_DAYS, parseDuration } from './durations.ts'
import { OperatorError } from './operator-error.ts'

const QUOTES = 'must not be in quotes: remove them (docker --env-file keeps them)'
const INVISIBLE = 'must not contain a line break or another invisible character'
const text = z
  .string()
  .regex(/^(?!(["'`]).*\1$)/s, { error: QUOTES, abort: true })
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}\u200B\u2060\uFEFF]*$/u, { error: INVISIBLE, abort: true })

/** Creates a format from a function that reads text, and returns undefined for a mistake. */
function format<T>(read: (text: string) => T | undefined, mistake: string) {
  return text.transform(read).refine((value): value is Awaited<T> & {} => value !== undefined, mistake)
}

/** Reads text between commas; undefined unless every part is valid. */
function parseList(text: string, isValid: (part: string) => boolean): string[] | undefined {
  const parts = text.split(',').map((part) => part.trim())
  return parts.every(isValid) ? parts : undefined
}

/** A URL without a user name, a query, a fragment or spaces. */
const PLAIN_URL = /^https?:\/\/[^/\\?#@\s]+(?:\/[^?#\s]*)?$/i

function parseUrl(text: string): URL | undefined {
  return (PLAIN_URL.test(text) && URL.parse(text)) || undefined
}

function parseRate(text: string): { requests: number; seconds: number } | undefined {
  const [, count, time = ''] = /^([1-9]\d{0,8})\/(.+)$/.exec(text) ?? []
  const duration = parseDuration(time) ?? 0
  return duration < 1_000 ? undefined : { requests: Number(count), seconds: duration / 1_000 }
}

/** Accepts an origin of any scheme, as browsers send it in the header `Origin`. */
function isOrigin(text: string): boolean {
  const { origin, protocol, host } = URL.parse(text) ?? {}
  // `URL` has the origin "null" for schemes that it does not know.
  return !text.includes('*') && text === (origin === 'null' ? `${protocol}//${host}` : origin)
}

/** An address or a subnet, other than all addresses. */
const proxy = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]).refine((text) => !text.endsWith('/0'))

/** Accepts a URL whose responses cannot be changed on their way. */
function isSafeUrl(text: string): boolean {
  const { protocol, hostname = '' } = parseUrl(text) ?? {}
  return protocol === 'https:' || /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
}

const count = text.regex(/^[1-9]\d{0,8}$/, 'must be a whole number between 1 and 999999999').transform(Number)
const port = format(
  (text) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
  'must be a port number, 0 to 65535 (0: any free one)',
)
const TIMES = `a time between 1ms and ${MAX_TIMER_DAYS}d, such as 250ms, 30s or 5m`
const timeout = format((text) => parseDuration(text), `must be ${TIMES}`)
const timeoutOrNone = format((text) => (text === '0' ? 0 : parseDuration(text)), `must be 0 or ${TIMES}`)
const onOff = text.pipe(z.enum(['on', 'off'], 'must be on or off')).transform((value) => value === 'on')
const rate = format(
  parseRate,
  `must be a number of requests and a time between 1s and ${MAX_TIMER_DAYS}d, such as 100/1s or 6000/1m`,
)
const publicUrl = format(
  (text) => parseUrl(text)?.href.replace(/\/+$/, ''),
  'must be an http or https URL without a user name, a query or a fragment, such as https://plants.example.com',
)
const keysUrl = text.refine(
  isSafeUrl,
  'must be an https URL without a user name, such as https://login.example.com/jwks.json; http only on this machine',
)
const origins = format(
  (text) => parseList(text, isOrigin),
  'must be origins as browsers send them, separated by commas, such as https://app.example.com,capacitor://localhost: in lower case, without a path or a default port, and neither "*" nor "null"',
)
const proxies = format(
  (text) => (/^[1-9]\d?$/.test(text) ? Number(text) : parseList(text, (part) => proxy.safeParse(part).success)),
  'must be the number of proxies in front of the server, such as 1, or their addresses, such as 10.0.0.0/8,127.0.0.1, but not all addresses (/0)',
)
const mode = text.refine(
  (text) => text === 'production' || !/^\W*pro?d/i.test(text),
  'must be production, in lower case and without quotes, or a word that does not look like it',
)
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const logLevel = text.pipe(z.enum(logLevels, `must be one of ${logLevels.join(', ')}`))

/** Makes a setting without a default, with a value for `.env.example`. */
function optional<Schema extends z.ZodType>(schema: Schema, example: string) {
  return schema.optional().meta({ examples: [example] })
}

/** Checks a DATABASE_URL, and makes the path of a file absolute. */
const database = text.transform((text, context): string => {
  try {
    return databaseUrl(text)
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    context.addIssue({ code: 'custom', message: error.message.replace(/^DATABASE_URL /, '') })
    return z.NEVER
  }
})

/**
 * Every setting with its default, as text of the environment, and what the README and `.env.example` say about it. The
 * variable of `maxConnections` is `MAX_CONNECTIONS`. Times are in milliseconds.
 */
export const SettingsSchema = z.object({
  host: text.prefault('127.0.0.1').describe('Address to listen on.'),
  port: port.prefault('3000').describe('Port to listen on; 0 takes any free port and prints it.'),
  databaseUrl: database
    .prefault(DEFAULT_DATABASE_URL)
    .describe(
      'SQLite file, not percent-encoded, relative to the folder of .env; or a PostgreSQL database, such as postgresql://user:password@localhost:5432/plants. Required with NODE_ENV=production.',
    ),
  publicUrl: optional(publicUrl, 'https://plants.example.com').describe(
    'Base URL that clients use, for links and the OpenAPI document. Default: relative URLs.',
  ),
  logLevel: logLevel.prefault('info').describe(`${logLevels.join(', ')}. Only silent turns audit events off.`),
  nodeEnv: optional(mode, 'production').describe(
    'With production, DATABASE_URL is required, and the first startup prints no token.',
  ),
  docs: onOff.prefault('on').describe('Whether /docs and /openapi.json are served: on or off.'),
  requestTimeout: timeout.prefault('30s').describe('How long a whole request may take to arrive; then 408.'),
  keepAliveTimeout: timeout
    .prefault('5s')
    .describe('How long a connection may be idle. Behind a proxy, longer than its own idle timeout (nginx: 60s).'),
  rateLimit: optional(rate, '100/1s').describe(
    'Requests per token and time, in each process; above it, 429. All JSON Web Tokens of one subject count as one. Default: unlimited.',
  ),
  trustProxy: optional(proxies, '1').describe(
    'Proxies trusted to report client addresses (X-Forwarded-For): how many, or their addresses, such as 10.0.0.0/8,127.0.0.1.',
  ),
  corsOrigins: optional(origins, 'https://app.example.com,http://localhost:5173').describe(
    'Origins whose pages may call the service from a browser.',
  ),
  jwtIssuer: optional(text, 'https://login.example.com/').describe(
    'OpenID provider whose JSON Web Tokens are also accepted (claim iss). Set JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL together.',
  ),
  jwtAudience: optional(text, 'https://plants.example.com').describe('Audience of these tokens (claim aud).'),
  jwtJwksUrl: optional(keysUrl, 'https://login.example.com/.well-known/jwks.json').describe(
    'Where this provider publishes its keys: an https URL, or http on this machine. Through a proxy: HTTPS_PROXY, NODE_USE_ENV_PROXY=1 and, for its own certificate authority, NODE_EXTRA_CA_CERTS in the environment, not in .env.',
  ),
  maxConnections: count
    .prefault('20000')
    .describe('Open connections, of about 10 kB each; the limit of open files (nofile) must leave 256 more.'),
  maxRequestsInFlight: count
    .prefault('500')
    .describe('Requests until their responses are taken; more get 503. 100 take at most 60 MB.'),
  shutdownTimeout: timeout.prefault('10s').describe('How long a shutdown may take; then requests are aborted.'),
  shutdownDelay: timeoutOrNone
    .prefault('1s')
    .describe('The part of SHUTDOWN_TIMEOUT in which the server still serves, with /readyz at 503 for a balancer.'),
  adminPort: optional(port, '3001').describe('Admin port with /livez, /readyz and /metrics.'),
  adminHost: text.prefault('127.0.0.1').describe('Address that the admin port listens on.'),
})

/** The settings, checked. */
export type Settings = z.output<typeof SettingsSchema>

/** The environment variables that settings are read from. */
export type Environment = Readonly<Record<string, string | undefined>>

const ISSUER_SETTINGS = ['jwtIssuer', 'jwtAudience', 'jwtJwksUrl'] as const

/**
 * Reads the settings from the environment. White space at the ends of a value is not part of it, and
 * an empty one counts as not set.
 *
 * @throws {OperatorError} that names every mistake
 */
export function readSettings(environment: Environment): Settings {
  const names = Object.keys(SettingsSchema.shape)
  const texts = Object.fromEntries(names.map((name) => [name, environment[variableOf(name)]?.trim() || undefined]))
  const { data, error } = SettingsSchema.safeParse(texts)
  const mistakes = (error?.issues ?? []).map(({ path, message }) => `${variableOf(String(path[0]))} ${message}`)
  mistakes.push(...findMissing(texts))
  if (data && texts['shutdownDelay'] && data.shutdownDelay > data.shutdownTimeout) {
    mistakes.push('SHUTDOWN_DELAY must be at most SHUTDOWN_TIMEOUT, of which it is a part')
  }
  if (data && mistakes.length === 0) return data
  throw new OperatorError(`Fix these settings and start again:\n${mistakes.map((line) => `  ${line}`).join('\n')}`)
}

/** Returns the environment variable of a setting. */
export function variableOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
}

function findMissing(texts: Partial<Record<keyof Settings, string>>): string[] {
  // Without one of an issuer's settings, tokens that are meant for other services would be accepted.
  const present = ISSUER_SETTINGS.find((name) => texts[name])
  const missing = present === undefined ? [] : ISSUER_SETTINGS.filter((name) => !texts[name])
  const mistakes = missing.map((name) => `${variableOf(name)} must be set too, since ${variableOf(String(present))} is`)
  if (texts.nodeEnv !== 'production' || texts.databaseUrl) return mistakes
  // The default would be a new, empty database where the setting was lost.
  const examples = 'file:/srv/plants.db or postgresql://localhost/plants'
  return [`DATABASE_URL must be set with NODE_ENV=production, such as ${examples}`, ...mistakes]
}
